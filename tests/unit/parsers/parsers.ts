import { clauseOf, clausesOf } from '../../../kennel/agents/practice/goal.ts';
import { readDockerfile } from '../../../kennel/workspace/environment/dockerfile.ts';
import { MANIFESTS } from '../../../kennel/workspace/environment/manifests.ts';
import { makeTarget } from '../../../kennel/workspace/project/start.ts';
import { parseLine } from '../../../src/activities/task/run/log-line.ts';
import { mergeEnv } from '../../../src/adapters/env-file.ts';
import { parseFullName, parseRemote } from '../../../src/adapters/github/remote.ts';
import { allowList, parseTarget } from '../../../src/adapters/kennel/gate/egress/allow-list.ts';
import { limitIn } from '../../../src/adapters/kennel/gate/model/limits.ts';
import { refusalIn } from '../../../src/adapters/kennel/gate/model/usage-readers.ts';
import { firstJson } from '../../../src/adapters/model/practice/script.ts';
import { parseRequest } from '../../../src/adapters/model/practice/situation.ts';
import { waitOf } from '../../../src/adapters/model/request/reset-time.ts';
import { readAnswer, SearchError } from '../../../src/adapters/web/searxng.ts';
import { EdgeError } from '../../../src/api/errors/errors.ts';
import { JsonSyntaxError, readJson } from '../../../src/api/errors/json-text.ts';
import { queryToken } from '../../../src/api/http/access/auth.ts';
import { originList } from '../../../src/api/http/access/cors.ts';
import { cookieTokens } from '../../../src/api/http/access/session-cookie.ts';
import { decodeSegment, flag, readQuery, whole } from '../../../src/api/http/request.ts';
import { arrowsOf } from '../../../src/api/status/docs/html.ts';
import { messageOf } from '../../../src/cli/chat/screen/editor.ts';
import { parseLogLine } from '../../../src/cli/instance/logs/log-line.ts';
import { parseGroupOrder } from '../../../src/domain/chat/groups.ts';
import { languageTag, quietSpan } from '../../../src/domain/chat/preferences.ts';
import { withoutTrigger } from '../../../src/domain/chat/trigger.ts';
import { nameFrom, parseBringIn, pastedPath } from '../../../src/domain/chat/words/bring-in.ts';
import {
  parseApproval,
  parseAskAgain,
  parseAutonomy,
  parseCommand,
  parseEgress,
  parseJudged,
  parseShare,
  parseTaskOrder,
  parseTell,
  phoneIn,
} from '../../../src/domain/chat/words/commands.ts';
import { parseHelp } from '../../../src/domain/chat/words/help.ts';
import { parsePlanFirst, parsePlanPreference } from '../../../src/domain/chat/words/plan-words.ts';
import { parseCheck, parseProfile } from '../../../src/domain/chat/words/profile-words.ts';
import { parseBring, parseChoice, parseParts, parseTogether } from '../../../src/domain/chat/words/race-words.ts';
import { parseRemind, readRemind } from '../../../src/domain/chat/words/reminder.ts';
import { meaningOf } from '../../../src/domain/chat/words/replies.ts';
import { parseGive, parseTake } from '../../../src/domain/chat/words/session-words.ts';
import { parseShip } from '../../../src/domain/chat/words/ship-words.ts';
import { parseSignOff } from '../../../src/domain/chat/words/sign-off.ts';
import {
  parseApp,
  parseDiff,
  parseScheduleRemoval,
  parseTaskStart,
  parseUndo,
  toolsInWords,
} from '../../../src/domain/chat/words/tool-words.ts';
import { urlsIn } from '../../../src/domain/consent/taint.ts';
import { parseSchedule } from '../../../src/domain/cron.ts';
import { parseCustomTool } from '../../../src/domain/extensions/custom-tool.ts';
import { parseMcpConfig } from '../../../src/domain/extensions/mcp-config.ts';
import { parseSkill } from '../../../src/domain/extensions/skill.ts';
import { plainSchema, RefusedDeclaration } from '../../../src/domain/extensions/tool-schema.ts';
import { limitInFailure, readFailure } from '../../../src/domain/model/agent-limit.ts';
import { inputsOf } from '../../../src/domain/routine-inputs.ts';
import { egressHost, membersOf } from '../../../src/domain/settings/shapes.ts';
import { readableOutput, readTests } from '../../../src/domain/tasks/checks/test-results.ts';
import { egressVerdict, toolName } from '../../../src/domain/tasks/egress.ts';
import { readPlan } from '../../../src/domain/tasks/plan.ts';
import { mirrorsProblem } from '../../../src/domain/tasks/registries/mirrors.ts';
import { registriesIn } from '../../../src/domain/tasks/registries/registries.ts';
import { isTooDeep } from '../../../src/domain/text/lenient-json.ts';
import { secretIn } from '../../../src/domain/text/secrets.ts';
import { phoneOf } from '../../../src/domain/whatsapp/identity.ts';
import { isCommand } from '../../../src/gateway/intake/commands/table.ts';
import { sanitiseName, sanitiseText } from '../../../src/gateway/intake/sanitise.ts';
import { isTestCommand } from '../../../src/tools/workspace/shell.ts';

/** Every parser of texts from outside that is ours, with texts that it understands: fuzzing begins at those. */

export interface Parser {
  read: (text: string) => unknown;
  seeds: string[];
  /** what it may throw; without it nothing */
  own?: Array<new (...args: never[]) => Error>;
  /** the longest text that reaches it */
  longest?: number;
}

const NOW = new Date('2026-11-23T10:00:00Z');
const json = (value: unknown): string => JSON.stringify(value);
const asked = (kind: 'question' | 'approval' | 'plan', number: number) => ({
  id: `q${number}`,
  number,
  kind,
  options: kind === 'question' ? ['Ada', 'Grace'] : [],
  deliveredAt: new Date(0),
  unread: false,
  noAtOnce: true,
});
const orJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

const COMMANDS: Record<string, Parser> = {
  parseCommand: { read: parseCommand, seeds: ['stop', '/status', 'clear!', 'help'] },
  parseHelp: { read: parseHelp, seeds: ['help', 'help tasks', 'Help all!', '??'] },
  parseTaskOrder: { read: parseTaskOrder, seeds: ['pause', 'resume tsk_1', 'stop all', 'retry now'] },
  parseTell: { read: parseTell, seeds: ['tell the agent: use npm', 'tell 2: stop there', 'tell claude: \n'] },
  parseAutonomy: { read: parseAutonomy, seeds: ['/auto', 'supervised', 'cautious'] },
  phoneIn: { read: phoneIn, seeds: ['+49 170 1234567', 'trust add +1 (555) 123-4567'] },
  parseShare: { read: parseShare, seeds: ['share app', 'unshare my-app with +49 170 1234567'] },
  parseEgress: { read: parseEgress, seeds: ['egress', 'egress allow example.com', 'egress forget *.example.com:443'] },
  parseJudged: { read: parseJudged, seeds: ['judged', 'judged by qwen3:8b', '/judged by rules'] },
  parseAskAgain: { read: parseAskAgain, seeds: ['ask again', 'ask again for fetch'] },
  parseApproval: { read: parseApproval, seeds: ['yes', '👍🏽', 'yes all', 'yes always for fetch', 'no', 'skip'] },
  parseUndo: { read: parseUndo, seeds: ['undo', 'undo all', 'redo', 'undo tsk_1234567890', 'undo edit-12ab in demo'] },
  parseTaskStart: {
    read: parseTaskStart,
    seeds: ['/task claude in demo: fix the tests', '/task: add a page', '/task in my.app: x'],
  },
  parseProfile: { read: parseProfile, seeds: ['demo is tested by make check', 'forget how demo is built.'] },
  parseCheck: { read: parseCheck, seeds: ['check demo', '/check demo again!'] },
  parseTake: { read: parseTake, seeds: ['take', 'take: add a page', 'take this session'] },
  parseGive: { read: parseGive, seeds: ['give', 'give 2', 'give tsk_0123456789'] },
  parseShip: {
    read: parseShip,
    seeds: ['ship', 'ship in demo: Add a page', 'ship and merge when green', 'ship stop #2'],
  },
  parseGroupOrder: {
    read: parseGroupOrder,
    seeds: ['answer in Family', '/answer everything in Family for everyone', 'stop answering in Family'],
  },
  parseDiff: { read: parseDiff, seeds: ['diff', 'show the diff'] },
  parseApp: { read: parseApp, seeds: ['apps', 'stop app-1a2b3c', 'log app-1a2b3c', 'preview 2'] },
  parseScheduleRemoval: { read: parseScheduleRemoval, seeds: ['schedules remove nightly', 'cron remove nightly'] },
  toolsInWords: { read: toolsInWords, seeds: ['undo', 'apps', 'clone https://example.com/x'] },
  parseRemind: {
    read: parseRemind,
    seeds: ['remind me to call Ann in 20 minutes', '/remind stretch at 9:00 tomorrow'],
  },
  readRemind: {
    // its answer comes later; a rejection fails the test
    read: (text) => {
      const remind = parseRemind(text);
      return (
        remind &&
        Promise.all(
          [undefined, 'German'].map((language) => readRemind(remind, NOW, { timeZone: 'Europe/Berlin', language })),
        )
      );
    },
    seeds: [
      'remind me to call Ann in 20 minutes',
      'remind me on Friday at 9 to pay',
      'remind me on 2027-03-01 to renew it',
    ],
  },
  parsePlanPreference: { read: parsePlanPreference, seeds: ['plan on', 'plan off', 'plan auto'] },
  parseTogether: { read: parseTogether, seeds: ['race 3 in shop: fix it', 'race claude, codex: x', 'split: a; b'] },
  parseChoice: { read: parseChoice, seeds: ['2', 'choose 3', 'merge'] },
  parseParts: { read: parseParts, seeds: ['1 and 2: the code of 1', 'parts of 1, 3 and 2: all'] },
  parseBring: { read: parseBring, seeds: ['bring in 12 13 to shop'] },
  parsePlanFirst: { read: parsePlanFirst, seeds: ['plan: add a page', 'plan first: rewrite it'] },
  parseBringIn: { read: parseBringIn, seeds: ['clone https://github.com/a/b', 'bring in /home/a/b as c'] },
  pastedPath: { read: pastedPath, seeds: ['/home/a/b', '"C:\\Users\\a b"', "'/tmp/x y'"] },
  nameFrom: { read: nameFrom, seeds: ['https://github.com/a/b.git', '/home/a/b', 'git@github.com:a/b'] },
  parseSignOff: { read: parseSignOff, seeds: ['sign as Ada Lovelace <ada@example.com>', 'sign off'] },
  isCommand: { read: isCommand, seeds: ['help', 'model gpt-5', 'trust add +49 170 1234567', 'remind me to x at 9'] },
  meaningOf: {
    read: (text) => [
      meaningOf(text, [], { at: NOW, readMs: 0 }),
      meaningOf(text, [asked('question', 1), asked('approval', 2), asked('plan', 3)], { at: NOW, readMs: 0 }),
      meaningOf(text, [asked('question', 1)], { at: NOW, readMs: 0, on: 'q1' }),
    ],
    seeds: ['yes', '2', 'yes 2', 'no 3 because of x', 'Ada', '1. Grace', 'more'],
  },
  egressVerdict: { read: egressVerdict, seeds: ['once', 'this task', 'this project', 'no', 'never', '2'] },
  withoutTrigger: { read: (text) => withoutTrigger(text, '@fetch'), seeds: ['@fetch status', '@Fetch: help me'] },
  messageOf: { read: messageOf, seeds: ['"""\na\nb\n"""', 'a \\', 'plain'] },
  languageTag: { read: languageTag, seeds: ['German', 'de', 'pt-BR', 'Deutsch'] },
  quietSpan: { read: quietSpan, seeds: ['22:00-07:00', '10pm to 6am', '9 - 17'] },
  phoneOf: { read: phoneOf, seeds: ['+49 170 1234567', '0049 170 1234567', '15551234567'] },
  sanitiseText: { read: sanitiseText, seeds: ['🏴󠁧󠁢󠁥󠁮󠁧󠁿 flag', 'a\u202eb', 'line\r\nline'] },
  sanitiseName: { read: sanitiseName, seeds: ['Ann', 'Owner: Ann\nBob'] },
};

const FILES: Record<string, Parser> = {
  parseSkill: {
    read: (text) => parseSkill('x', text, []),
    seeds: [
      '---\nname: x\ndescription: y\n---\nbody',
      '---\nname: "x"\ndescription: >\n  a\n  b\nmetadata:\n  a: [1, 2]\n---\nbody',
      '---\na: &a [x]\nb: *a\n---\n',
    ],
    longest: 200_000,
  },
  parseCustomTool: {
    read: parseCustomTool,
    seeds: [
      json({
        name: 'lint',
        description: 'd',
        command: 'x {{a}}',
        parameters: [{ name: 'a', type: 'number', default: 3 }],
        hosts: ['example.com'],
      }),
    ],
    longest: 100_000,
  },
  parseMcpConfig: {
    read: parseMcpConfig,
    seeds: [
      json({
        mcpServers: {
          a: { command: 'x', args: ['y'], env: { K: 'v' } },
          b: { url: 'https://example.com/mcp', headers: { A: 'b' } },
        },
      }),
    ],
  },
  plainSchema: {
    read: (text) => plainSchema(orJson(text)),
    seeds: [
      json({
        type: 'object',
        properties: { a: { type: ['string', 'null'], enum: ['x'] }, b: { $ref: '#/$defs/b' } },
        required: ['a'],
        $defs: { b: { items: {} } },
      }),
      json({
        type: 'object',
        properties: { a: { anyOf: [{ type: 'string' }, { type: 'object', additionalProperties: true }] } },
      }),
    ],
    own: [RefusedDeclaration],
  },
  inputsOf: {
    // as the check of arguments lets it through
    read: (text) => isTooDeep(orJson(text)) || inputsOf({ a: text, b: [orJson(text)] }),
    seeds: ['{{input.name}} and {{input.x=1}}', json({ a: '{{input.b=c}}' })],
  },
  parseSchedule: {
    read: (text) => parseSchedule(text, 'Europe/Berlin', NOW),
    seeds: ['0 3 * * *', '*/15 9-17 * * MON-FRI', '@daily', '0 0 31 2 *'],
    longest: 100,
  },
  timeZone: { read: (text) => parseSchedule('0 3 * * *', text, NOW), seeds: ['UTC', 'Europe/Berlin'], longest: 60 },
  readDockerfile: {
    read: readDockerfile,
    seeds: [
      'FROM debian:12 AS a\nRUN x && \\\n  y\nCOPY --from=a /a /b\nADD https://x /y\n',
      '# escape=`\nFROM x\nCOPY ["a b", "/c"]\n',
      'FROM a\nRUN <<E\nx\nE\n',
    ],
  },
  ...Object.fromEntries(
    Object.entries(MANIFESTS).map(([file, read]) => [
      file,
      {
        read,
        seeds: [
          'nodejs 22.1.0\npython 3.12\n',
          'v22.1',
          'module x\n\ngo 1.24\ntoolchain go1.24.1\n',
          '[package]\nrust-version = "1.80"\n[tools]\nnode = ["22"]\n[project]\nrequires-python = ">=3.10"\n',
          json({ engines: { node: '>=22' }, require: { php: '^8.2' } }),
          "<java.version>21</java.version>\nruby '3.3.1'\nsourceCompatibility = 21\n",
        ],
        // a file that its own tools could not read is left out by the caller
        own: [Error],
      } satisfies Parser,
    ]),
  ),
  makeTarget: {
    read: (text) => makeTarget(text, 'test'),
    seeds: ['test: build\n\tgo test\n.PHONY: test\n', 'build test:\n\tx'],
  },
  mergeEnv: {
    read: (text) => mergeEnv(text, { FETCH_A: 'x y', FETCH_B: undefined }),
    seeds: ['FETCH_A=1\nFETCH_B=\'two\nlines\'\n# no\nexport C="x" # y\r\n', 'FETCH_A=`a`\nFETCH_A=2'],
  },
  membersOf: { read: membersOf, seeds: ['a, b,c', '*.example.com:443'] },
  egressHost: { read: egressHost, seeds: ['example.com', '*.example.com:8443', 'https://example.com/x', '[::1]:80'] },
  mirrorsProblem: {
    read: mirrorsProblem,
    seeds: ['npm=https://npm.example/', 'pip=http://pip.example:8080/simple, go=https://go.example'],
  },
};

const OTHERS: Record<string, Parser> = {
  parseLine: {
    read: parseLine,
    seeds: [
      json({
        seq: 1,
        step: 1,
        at: '2026-11-23T10:00:00Z',
        type: 'tool',
        id: 'a',
        title: 'b',
        kind: 'edit',
        status: 'completed',
        paths: ['/workspace/a'],
      }),
      json({
        seq: 1,
        step: 1,
        at: '2026-11-23T10:00:00Z',
        type: 'permission',
        id: 'a',
        title: 'b',
        kind: 'execute',
        command: 'rm',
      }),
    ],
  },
  parseLogLine: {
    read: (text) => parseLogLine('worker', text, 0),
    seeds: [json({ level: 30, time: 1, msg: 'x' }), '2026-11-22 09:16:43.411 UTC [1234] LOG:  text', 'plain'],
  },
  parseRequest: {
    read: (text) => parseRequest(text),
    seeds: [
      json({
        messages: [
          { role: 'user', content: 'hi' },
          { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'x', arguments: '{}' } }] },
        ],
        tools: [],
      }),
    ],
    // the practice server answers 400
    own: [Error],
  },
  firstJson: { read: firstJson, seeds: ['[{"say":"x \\" ]"}] after', '{"a":[1,{"b":"}"}]}'] },
  clausesOf: {
    read: (text) => clausesOf(text).map((clause) => clauseOf(clause, ['yes'])),
    seeds: ['write a.txt b; ask Which? | a | b; run ls', 'wait 3;say {answer}'],
  },
  readPlan: {
    read: readPlan,
    seeds: [
      '1. Read it.\n2. Change it.\n\nFiles:\n- a.txt\n- `src/b.ts`: why\n',
      '<proposed_plan>\nx\n</proposed_plan>',
    ],
  },
  readFailure: {
    read: readFailure,
    seeds: ['The model refused: 429 {"error":{"message":"Rate limit reached, try again in 20s"}}', 'exit code 1: x'],
  },
  limitInFailure: {
    read: (text) => limitInFailure(text, NOW.getTime()),
    seeds: [
      'Usage limit reached. Resets at 3pm (Europe/Berlin).',
      "You've hit your limit · resets Nov 24, 3am",
      '429 try again in 4h 3m',
    ],
  },
  waitOf: {
    read: (text) =>
      waitOf({ headers: { get: () => text }, error: orJson(text), text, zone: 'UTC' } as never, NOW.getTime()),
    seeds: [
      '120',
      'Wed, 25 Nov 2026 07:28:00 GMT',
      '1m30s',
      '2026-11-23T11:00:00Z',
      json({ error: { details: [{ retryDelay: '30s' }] } }),
    ],
  },
  limitIn: {
    read: (text) => limitIn({ status: 429, headers: { 'retry-after': text }, text } as never),
    seeds: [
      json({ error: { type: 'rate_limit_error', message: 'x' } }),
      json([{ error: { code: 429, status: 'RESOURCE_EXHAUSTED' } }]),
    ],
  },
  refusalIn: {
    read: (text) =>
      (['anthropic', 'chat', 'responses', 'gemini'] as const).map((wire) => refusalIn(wire, orJson(text))),
    seeds: [
      json({ type: 'error', error: { type: 'overloaded_error' } }),
      json({ error: { code: 429, message: 'x' } }),
      json({ response: { error: { code: 'x' } } }),
    ],
  },
  readAnswer: {
    read: (text) => readAnswer(text, 'http://searx'),
    seeds: [
      json({
        results: [{ url: 'https://example.com/a', title: 't', content: 'c', engine: 'e' }],
        unresponsive_engines: [['bing', 'timeout']],
      }),
    ],
    own: [SearchError],
  },
  registriesIn: {
    read: (text) => registriesIn(text, () => true),
    seeds: ['npm https://registry.npmjs.org/\npip https://pypi.org/simple\n', 'go https://proxy.golang.org,direct\n'],
  },
  parseRemote: {
    read: (text) => parseRemote(text, 'github.com'),
    seeds: [
      'https://github.com/a/b.git',
      'git@github.com:a/b',
      'ssh://git@github.com:22/a/b.git',
      'https://x:y@github.com/a/b',
    ],
  },
  parseFullName: { read: parseFullName, seeds: ['facebook/react', 'a/b.git'] },
  parseTarget: { read: parseTarget, seeds: ['example.com:443', '[::1]:80', 'xn--bcher-kva.example:8443'] },
  allowList: { read: (text) => allowList([text]), seeds: ['example.com', '*.example.com:8443'], own: [Error] },
  toolName: { read: toolName, seeds: ['npm/11.1.0 node/v24.1.0 linux x64', 'pip/24.0 {"ci":null}', 'curl/8.5.0'] },
  readJson: {
    read: (text) => readJson(Buffer.from(text)),
    seeds: [json({ a: [1, 'x', null, true], b: { c: '\u00e9' } }), '[1e3, -0.5]'],
    own: [JsonSyntaxError],
  },
  readQuery: {
    read: (text) => readQuery(text, { since_seq: whole, replay: flag }),
    seeds: ['since_seq=3&replay=true', 'since_seq=%33'],
    own: [EdgeError],
  },
  decodeSegment: { read: (text) => decodeSegment(text, 'id'), seeds: ['thr_1', '%C3%A9', 'a%2Fb'], own: [EdgeError] },
  queryToken: { read: (text) => queryToken(`/v1/x?${text}`), seeds: ['token=abc', 'a=b&token=%41'] },
  cookieTokens: {
    read: (text) => cookieTokens({ headers: { cookie: text } }),
    seeds: ['a=b; codewhale_runtime_token=x', 'codewhale_runtime_token="x"'],
  },
  originList: {
    read: (text) => originList(text)(text),
    seeds: ['https://app.example.com, http://localhost:3000', '*'],
  },
  arrowsOf: {
    read: arrowsOf,
    seeds: ['flowchart LR\n  A["a"] --> B["b"]\n  B -->|yes| C\n', 'flowchart TD\nA --> B & C'],
  },
  urlsIn: {
    read: (text) => [urlsIn(text), urlsIn(text, true)],
    seeds: ['see https://example.com/a_(b)?c=d#e, <http://x.y>', '[a](https://b.c "t") example.org'],
  },
  secretIn: {
    read: (text) => secretIn(text, ['own-secret-value']),
    seeds: ['ghp_0123456789012345678901234567890123456', 'AKIA0123456789ABCDEF', '-----BEGIN RSA PRIVATE KEY-----'],
  },
  readTests: {
    read: readTests,
    seeds: [
      'TAP version 13\n    ok 1 - a\n      ---\n      duration_ms: 1\n      ...\nnot ok 1 - suite # TODO',
      '<testsuite><testcase classname="a" name="b" time="1"><failure/></testcase></testsuite>',
      '{"Action":"fail","Package":"x/a","Test":"TestA/b","Elapsed":1}\n{"Action":"fail","Package":"x/a"}',
      '{"testResults":[{"name":"a","status":"failed","assertionResults":[{"title":"b","status":"passed"}]}]}',
      ' ❯ a.test.ts (3 tests | 1 failed) 5ms\n   × b 3ms\n▶ c\n  ✔ d (1ms)\n✔ c (2ms)',
      'FAILED a.py::b[x - y] - no\ntest a::b ... FAILED\n--- FAIL: TestA/b (0.1s)\nFAIL\tx/a\t0.1s',
      '[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s <<< FAILURE! -- in a.B',
    ],
    longest: 100_000,
  },
  readableOutput: { read: readableOutput, seeds: ['{"Action":"output","Output":"a"}\nb'] },
  isTestCommand: { read: isTestCommand, seeds: ['npm run test:unit -- "a b"', "pytest -k 'x y'", 'go test ./...'] },
};

export const PARSERS: Record<string, Parser> = { ...COMMANDS, ...FILES, ...OTHERS };

/** Functions that are called `parse…` and are fuzzed elsewhere, or get no text from outside. */
export const ELSEWHERE: Record<string, string> = {
  parsePage: 'pages of the documentation, which are ours',
  parseMended: 'arguments of a call, as values: tests/unit/tools/garbage.test.ts',
};
