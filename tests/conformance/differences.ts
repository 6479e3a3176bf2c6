import type { Entry } from './skeleton.ts';

/** Where this server answers otherwise than the reference on purpose. docs/differences.md says the same for readers. */
export interface Difference {
  cases: RegExp;
  why: string;
  status?: number;
  body?: RegExp;
  allow?: string;
}

export const differences: Difference[] = [
  {
    cases: /^http\/usage\/(group_(day|model|thread)|offset)$/,
    status: 200,
    body: /^\{"since":.*"totals":\{"input_tokens":500,"output_tokens":100,"cached_tokens":0,"reasoning_tokens":0,"cost_usd":0,"turns":5\},"buckets":\[\{"key":/,
    why: 'five turns were made here, and their copies count nothing; figures are compared in usage-report.test.ts',
  },
  {
    cases: /^http\/thread\/fork_detail$/,
    body: /"status":"interrupted".*"pending_approvals":\[\]/,
    why: 'a turn that runs in the source ends as interrupted in the copy; the reference leaves it in progress for ever',
  },
  {
    cases: /^http\/sessions\/clean_resume_detail$/,
    body: /"status":"completed".*"kind":"user_message".*"kind":"agent_message"/,
    why: 'all of a turn is copied, with its usage and in its order; the reference copies texts and scrambles them',
  },
  {
    cases: /^http\/sessions\/clean_create$/,
    body: /^\{"session_id":"(thr_\w+)","thread_id":"\1","message_count":2,"title":"SCRIPT:/,
    why: 'the thread is the session',
  },
  {
    cases: /^http\/sessions\/list_with_bad$/,
    body: /^\{"sessions":\[\{"id":"thr_/,
    why: 'a thread is a session from its beginning',
  },
  { cases: /^http\/auth\/cookie$/, status: 200, body: /^\[/, why: 'the cookie form of later releases is accepted' },
  {
    cases: /^http\/public\/mobile_disabled_slash$/,
    body: /^mobile control is disabled; start with `fetch serve --mobile`$/,
    why: 'the text names our own command',
  },
  {
    cases: /^mcp\/servers$/,
    body: /^\{"servers":\[\{"name":"broken","enabled":true,"required":false,"command":"\/nonexistent\/cmd","url":null,"connected":false,"enabled_tools":\[\],"disabled_tools":\[\],"agreed":false\},\{"name":"demo","enabled":true,"required":false,"command":"codewhale-tui","url":null,"connected":true,"enabled_tools":\[\],"disabled_tools":\[\],"agreed":true\},\{"name":"off","enabled":false,"required":false,"command":"\/bin\/true","url":null,"connected":false,"enabled_tools":\[\],"disabled_tools":\[\],"agreed":false\},\{"name":"web","enabled":true,"required":false,"command":null,"url":"http:\/\/127\.0\.0\.1:1\/mcp","connected":false,"enabled_tools":\[\],"disabled_tools":\["x"\],"agreed":false\}\]\}$/,
    why: 'whether the owner agreed to it is added',
  },
  {
    cases: /^http\/skills\/set_true$/,
    status: 409,
    body: /You have not agreed to this version of demo/,
    why: 'a yes is for a version that was seen whole, which no answer here shows',
  },
  {
    cases: /^http\/public\/info(_bad_token)?$/,
    body: /"auth_required":true/,
    why: 'further fields are added; the four of the contract stay',
  },
  {
    cases: /^http\/thread\/(steer|interrupt)_(?!badutf8)/,
    status: 404,
    body: /Thread not found/,
    why: '"Thread is not loaded" is an artefact of engines in memory',
  },
  { cases: /^http\/steer\/bad_bool_str$/, status: 409, body: /active/, why: 'the same: nothing is ever unloaded' },
  {
    cases: /^http\/turns\/steer_unknown_turn_unloaded$/,
    status: 409,
    body: /No active turn/,
    why: 'the same: nothing is ever unloaded',
  },
  {
    cases: /^http\/turns\/steer_old_id$/,
    status: 409,
    body: /active/,
    why: 'the text depends on what runs at that moment',
  },
  {
    cases: /^http\/(thread\/get|patch\/after_multi_bad)$/,
    body: /"pending_approvals":\[\]/,
    why: 'pending_* lists are added, as in later releases; latest_seq depends on the store',
  },
  {
    cases: /^http\/user_input\/(empty_answers|loaded_unknown_input)$/,
    status: 404,
    body: /no pending user input/,
    why: 'an unknown question is told, not swallowed',
  },
  {
    cases: /^http\/user_input\/unloaded$/,
    status: 404,
    body: /no pending user input/,
    why: 'nothing is ever unloaded: the thread is there, the question is not',
  },
  {
    cases: /^http\/tasks\/bad_array$/,
    body: /expected struct NewTaskRequest with 9 elements/,
    why: 'agent and harness are added',
  },
  {
    cases: /^http\/snapshots\/(default|l100)$/,
    body: /^\[\]$/,
    why: 'nothing was changed here; what is listed is shown in snapshots.test.ts',
  },
  {
    cases: /^http\/threads\/create_sysprompt_empty$/,
    status: 201,
    body: /"schema_version":2/,
    why: 'an empty system prompt is none',
  },
];

/** Where the events of a turn differ from the recorded ones on purpose. Labels are those of `skeleton.ts`. */
export interface EventDifference {
  cases: RegExp;
  why: string;
  /** recorded entries that ours lack */
  omits?: (entry: Entry, recorded: readonly Entry[]) => boolean;
  /** our entries that the recording lacks */
  adds?: RegExp;
  /** that depends on timing, so it need not show */
  optional?: true;
  /** a run of recorded labels, and its replacement */
  theirs?: string[];
  instead?: string[];
  /** recorded fields that ours lack, as `path:type` */
  lacks?: RegExp;
}

const labelled = (pattern: RegExp) => (entry: Entry) => pattern.test(entry.label);
const RETRIED = [1, 2, 3].flatMap((n) => [
  'item.failed error failed',
  `item.completed status completed "Connection interrupted; retrying (${n}/3)"`,
]);
const GAVE_UP = ['item.failed error failed', 'turn.completed failed'];
const BROKEN_OFF = [
  'item.started agent_message in_progress @a',
  'item.delta agent_message @a',
  'item.interrupted agent_message interrupted @a',
];
const ANSWERED = [
  'item.started agent_message in_progress @b',
  'item.delta agent_message @b',
  'item.completed agent_message completed @b',
  'turn.completed completed',
];
const CALLED = ['item.started tool in_progress @c', 'item.completed tool completed @c'];

export const eventDifferences: EventDifference[] = [
  {
    cases: /./,
    why: 'remarks of the reference about its own work have no counterpart',
    omits: labelled(
      /^item\.completed status completed "(Executing|Auto-loaded|Session context synced|Steer input accepted)/,
    ),
  },
  {
    cases: /^sse\/user_input_/,
    why: 'no tool has to be loaded by a first call that does nothing',
    theirs: ['item.started tool in_progress', 'item.completed tool completed'],
    instead: [],
  },
  { cases: /^sse\/user_input_/, why: 'screens learn that a question was answered', adds: /^user_input\.answered/ },
  {
    cases:
      /^sse\/(auto_approve_thread|approval_remember|approval_remember_next_turn|steer_during_tool|apply_patch|edit_file|shell_auto|shell_progress)$/,
    why: 'what was approved beforehand is not asked: the reference leaves a prompt on screens that nobody can answer',
    omits: (entry, recorded) =>
      entry.label === 'approval.required' &&
      !recorded.some(({ label, call }) => call === entry.call && /^approval\.(decided|timeout)/.test(label)),
  },
  {
    cases: /^sse\/reasoning_only$/,
    why: 'a model that answers with nothing is asked once more, and an empty answer is told in our words',
    theirs: [
      'item.completed status completed "Model returned reasoning but no answer or tool call; turn ended without output. Send a follow-up to ..."',
    ],
    instead: [
      'item.started agent_reasoning in_progress @again',
      'item.delta agent_reasoning @again',
      'item.completed agent_reasoning completed @again',
      'item.completed status completed "The model answered with nothing. Write again, perhaps in other words." @e',
    ],
  },
  {
    cases: /^sse\/plain_empty$/,
    why: 'white space is an empty answer, too',
    theirs: [
      'item.started agent_message in_progress',
      'item.delta agent_message',
      'item.completed agent_message completed',
    ],
    instead: [
      'item.completed status completed "The model answered with nothing. Write again, perhaps in other words." @e',
    ],
  },
  {
    cases: /^sse\/approval_id_collision_2$/,
    why: 'ids of approvals are unique, so two threads whose models use the same call id cannot spoil each other',
    theirs: ['approval.required', 'item.failed tool failed'],
    instead: ['approval.required', 'approval.decided allow once', 'item.completed tool completed'],
  },
  {
    cases: /^sse\/approval_mixed_auto_and_required$/,
    why: 'a call that waits for nobody does not hold up the question about another',
    theirs: ['item.completed tool completed', 'approval.required'],
    instead: ['approval.required', 'item.completed tool completed'],
  },
  {
    cases: /^sse\/approval_timeout$/,
    why: 'one reminder comes before the end',
    adds: /^item\.completed status completed "I am still waiting/,
  },
  {
    cases: /^sse\/interrupt_pending_approval_/,
    why: 'an interrupt ends the wait for an approval at once; the reference waits for the decision, for up to 300 s',
    omits: labelled(/^(: keepalive|approval\.(decided|timeout))/),
  },
  {
    cases: /^sse\/fail_500_always$/,
    why: 'a model that may come back is waited for; the reference gives up after three retries',
    theirs: GAVE_UP,
    instead: ANSWERED,
  },
  {
    cases: /^sse\/fail_cut_mid_text$/,
    why: 'a broken answer is one item that ends as interrupted, and the model is asked again',
    theirs: [...RETRIED, ...GAVE_UP],
    instead: [...BROKEN_OFF, ...ANSWERED],
  },
  {
    cases: /^sse\/fail_cut_mid_text_paced$/,
    why: 'the same; the reference does not ask again after the first word',
    theirs: [
      'item.started agent_message in_progress',
      'item.delta agent_message',
      'item.failed error failed',
      'item.completed agent_message completed',
      'turn.completed failed',
    ],
    instead: [...BROKEN_OFF, ...ANSWERED],
  },
  {
    cases: /^sse\/fail_cut_after_tool_call$/,
    why: 'the same; a call of which only a part came is not shown',
    theirs: [...RETRIED, ...GAVE_UP],
    instead: [...CALLED, ...ANSWERED],
  },
  {
    cases: /^sse\/fail_cut_tool_paced$/,
    why: 'the same',
    theirs: [
      'item.started agent_message in_progress',
      'item.delta agent_message',
      'item.failed error failed',
      'item.completed agent_message completed',
      'item.started agent_message in_progress',
      'item.delta agent_message',
      'item.completed agent_message completed',
      'turn.completed failed',
    ],
    instead: [
      ...BROKEN_OFF,
      'item.started agent_message in_progress @d',
      'item.delta agent_message @d',
      'item.started tool in_progress @c',
      'item.completed agent_message completed @d',
      'item.completed tool completed @c',
      ...ANSWERED,
    ],
  },
  {
    cases: /^sse\/(plain|tool_auto_read)$/,
    why: 'a turn that a restart held up says so once',
    adds: /^item\.completed status completed "A restart held/,
    optional: true,
  },
];

/** Where tasks and automations are answered otherwise than recorded. Fields are left out of both sides. */
export interface BackgroundDifference {
  cases: RegExp;
  why: string;
  status?: number;
  type?: string;
  body?: RegExp;
  fields?: string[];
}

const RECORD =
  /^automations\/(rrule\/\w+|create|create_trimmed|get|list|patch\w*|pause|pause_again|resume|resume_again|delete)$/;

export const backgroundDifferences: BackgroundDifference[] = [
  {
    cases: /^tasks\/(q_)?create_/,
    fields: ['thread_id', 'turn_id'],
    why: 'a task has its thread from the beginning, so clients can follow it at once',
  },
  { cases: RECORD, fields: ['estimate'], why: 'what the runs will probably cost is told where it is known' },
  { cases: /^tasks\/create_modes$/, fields: ['model'], why: 'a blank model is none' },
  {
    cases: /^tasks\/(q_)?(get|cancel)_/,
    fields: ['timeline', 'runtime_event_count'],
    why: 'one entry for each thing that happened; the reference writes two for each piece of a text',
  },
  {
    cases: /^tasks\/(cancel_running|cancel_running_twice|get_canceled|get_failed)$/,
    fields: ['prompt', 'result_summary', 'error'],
    why: 'these tasks were started with requests that are not recorded; texts of failures are our own',
  },
  {
    cases: /^tasks\/q_(cancel_running|get_canceled)$/,
    fields: ['result_summary'],
    why: 'how much was said before depends on timing',
  },
  {
    cases: /^tasks\/cancel_prefix$/,
    body: /"prompt":"x".*"status":"(queued|running|completed|failed|canceled)"/,
    why: 'how far it is depends on timing',
  },
  {
    cases: /^tasks\/list_limit_0$/,
    body: /^\{"tasks":\[\],"counts":\{"queued":0,"running":0,"completed":\d,"failed":\d,"canceled":1\}\}$/,
    why: 'other tasks have run',
  },
  {
    cases: /^tasks\/list_final$/,
    body: new RegExp(
      String.raw`^\{"tasks":\[(\{"id":"task_\w+","status":"\w+","prompt_summary":TEXT,"model":TEXT,"mode":TEXT,"created_at":TEXT,"started_at":TEXT,"ended_at":TEXT,"duration_ms":\d+,("error":TEXT,)?"thread_id":"thr_\w+","turn_id":"turn_\w+"\},?)+\],"counts":\{"queued":0,"running":0,"completed":\d,"failed":1,"canceled":1\}\}$`.replaceAll(
        'TEXT',
        String.raw`"(?:[^"\\]|\\.)*"`,
      ),
    ),
    why: 'other tasks have run; each has the recorded fields in the recorded order',
  },
  {
    cases: /^tasks\/(q_)?canceled_thread$/,
    body: /^\{"thread":\{.*"task_id":"task_[0-9a-f]{16}".*\},"turns":\[\{.*"status":"(interrupted|completed)"/,
    why: 'its turn is compared with its events in turn-events.test.ts',
  },
  { cases: RECORD, fields: ['timezone', 'thread_id', 'allow_shell', 'auto_approve'], why: 'further fields are added' },
  {
    cases:
      /^automations\/(get_unknown|get_trav|delete_again|(delete|patch|pause)_badchars|delete_trav|(pause|resume)_unknown)$/,
    body: /^\{"error":\{"message":"Automation not found: [^"]*","status":404\}\}$/,
    why: 'no path of the disk is told',
  },
  {
    cases: /^automations\/traversal_/,
    status: 404,
    body: /Automation not found/,
    why: 'an id names an automation and no file',
  },
  {
    cases: /^automations\/run_body$/,
    body: /^\{"schema_version":1,"id":"[0-9a-f-]{36}","automation_id":"[0-9a-f-]{36}","scheduled_for":"[^"]+","status":"(queued|running)","created_at":/,
    why: 'a run is queued until its workflow has begun; the reference starts its task before it answers',
  },
];
