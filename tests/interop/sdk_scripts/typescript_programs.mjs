// Programs that use the TypeScript SDK of Codex as anybody would: each function is one, and gives its report.
//
// Called as `typescript_programs.mjs PROGRAM CODEX_BIN [ARGUMENT]...` where the SDK is installed; the report is printed
// as JSON. Knows nothing of what it drives but the path.

import { Codex } from "@openai/codex-sdk";

const [name, bin, ...rest] = process.argv.slice(2);

const programs = {
  async plainTurns(codex) {
    const thread = codex.startThread();
    const before = thread.id;
    const turns = [await thread.run("hello")];
    const id = thread.id;
    turns.push(await thread.run("and more"));
    return { before, isSameThread: id === thread.id, turns };
  },

  async pictures(codex, path) {
    const parts = [
      { type: "text", text: "look" },
      { type: "local_image", path },
      { type: "text", text: "what is this?" },
    ];
    return await codex.startThread().run(parts);
  },

  async outputSchema(codex, schema) {
    const thread = codex.startThread();
    const shaped = await thread.run("in this shape", { outputSchema: JSON.parse(schema) });
    const later = await thread.run("as you like");
    return { answer: JSON.parse(shaped.finalResponse), later: later.finalResponse };
  },

  async streamed(codex) {
    const { events } = await codex.startThread({ sandboxMode: "workspace-write" }).runStreamed("work");
    return await collected(events);
  },

  async unasked(codex) {
    return await codex.startThread({ approvalPolicy: "on-request" }).run("try");
  },

  async everyOption(_codex, directory, extra) {
    const other = new Codex({
      codexPathOverride: bin,
      baseUrl: process.env.MODEL_URL,
      apiKey: "a-key",
      config: { model_provider: "openai", features: { plugins: false }, unheard: { of: ["a", 1], empty: {} } },
      configOverrides: ['model_verbosity="low"'],
    });
    const thread = other.startThread({
      model: "gpt-5.2",
      threadSource: "subagent",
      sandboxMode: "workspace-write",
      workingDirectory: directory,
      skipGitRepoCheck: true,
      modelReasoningEffort: "high",
      networkAccessEnabled: true,
      webSearchMode: "disabled",
      approvalPolicy: "never",
      additionalDirectories: [extra],
    });
    const turns = [];
    for (const text of ["work", "go on"]) {
      turns.push(await thread.run(text, { cyberAccessProgram: "standard" }));
    }
    return turns;
  },

  async ownPermissions(_codex, directory) {
    const files = `{":root"="read",${JSON.stringify(directory)}="write"}`;
    const other = new Codex({
      codexPathOverride: bin,
      config: { approval_policy: "on-request", default_permissions: "mine" },
      configOverrides: [`permissions.mine.filesystem=${files}`],
    });
    return await other.startThread({ approvalPolicy: "never" }).run("work");
  },

  async bareEnvironment(_codex) {
    const env = { CODEX_HOME: process.env.CODEX_HOME, XDG_RUNTIME_DIR: process.env.XDG_RUNTIME_DIR };
    return await new Codex({ codexPathOverride: bin, env }).startThread().run("work");
  },

  async aborted(codex) {
    const thread = codex.startThread();
    const abort = new AbortController();
    const { events } = await thread.runStreamed("work for ever", { signal: abort.signal });
    let error = null;
    try {
      for await (const event of events) {
        if (event.type === "item.started" && event.item.type === "command_execution") abort.abort();
      }
    } catch (caught) {
      error = caught.name;
    }
    return { error, later: (await thread.run("go on")).finalResponse };
  },

  async resumed(codex, id) {
    const thread = codex.resumeThread(id);
    const turn = await thread.run("and now?");
    return { isSameThread: thread.id === id, final: turn.finalResponse };
  },

  async begun(codex) {
    const thread = codex.startThread();
    await thread.run("remember me");
    return { id: thread.id };
  },

  async twoAtOnce(codex) {
    const run = (text) => codex.startThread({ sandboxMode: "workspace-write" }).run(text);
    return await Promise.all(["left", "right"].map(run));
  },

  async failed(codex) {
    const thread = codex.startThread();
    return { error: await errorOf(thread.run("fail")), later: (await thread.run("again")).finalResponse };
  },

  async refused(codex, outside) {
    return {
      outside: await errorOf(codex.startThread({ workingDirectory: outside }).run("hello")),
      provider: await errorOf(
        new Codex({ codexPathOverride: bin, config: { model_provider: "nobody" } })
          .startThread()
          .run("hello"),
      ),
    };
  },
};

async function collected(events) {
  const all = [];
  for await (const event of events) all.push(event);
  return all;
}

async function errorOf(turn) {
  try {
    await turn;
  } catch (error) {
    return error.message;
  }
  return null;
}

const report = await programs[name](new Codex({ codexPathOverride: bin }), ...rest);
console.log(JSON.stringify(report));
