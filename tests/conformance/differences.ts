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
    body: /^\{"since":.*"totals":\{"input_tokens":0,"output_tokens":0,"cached_tokens":0,"reasoning_tokens":0,"cost_usd":0,"turns":0\},"buckets":\[\]\}$/,
    why: 'nothing was asked of a model here; figures are compared in usage-report.test.ts',
  },
  { cases: /^http\/method\/POST_hreads_summary$/, allow: 'GET,HEAD,PATCH', why: 'the summary comes with a later part; until then its name is one of a thread' },
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
  { cases: /^http\/public\/info(_bad_token)?$/, body: /"auth_required":true/, why: 'further fields are added; the four of the contract stay' },
  {
    cases: /^http\/thread\/(steer|interrupt)_(?!badutf8)/,
    status: 404,
    body: /Thread not found/,
    why: '"Thread is not loaded" is an artefact of engines in memory',
  },
  { cases: /^http\/steer\/bad_bool_str$/, status: 409, body: /active/, why: 'the same: nothing is ever unloaded' },
  { cases: /^http\/turns\/steer_unknown_turn_unloaded$/, status: 409, body: /No active turn/, why: 'the same: nothing is ever unloaded' },
  { cases: /^http\/turns\/steer_old_id$/, status: 409, body: /active/, why: 'the text depends on what runs at that moment' },
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
  { cases: /^http\/threads\/create_sysprompt_empty$/, status: 201, body: /"schema_version":2/, why: 'an empty system prompt is none' },
];

/** Recorded cases that this part does not serve or that depend on a transcript of the reference's own tools. */
export const notCompared: Array<{ cases: RegExp; why: string }> = [
  {
    cases: /^http\/method\/(DELETE_asks|GET_utomations|GET_hreads_t_fork|POST_utomations|POST_essions|POST_napshots|PUT_utomations)/,
    why: 'routes of later parts',
  },
  {
    cases: /^http\/thread\/get_after_overrides$/,
    why: 'turns that have ended need a worker: their detail is compared with their events in turn-events.test.ts',
  },
  { cases: /^http\/turns\/interrupt_unknown_loaded$/, why: 'recorded with an id that is masked; the same answer as interrupt_after' },
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
const RETRIED = [1, 2, 3].flatMap((n) => ['item.failed error failed', `item.completed status completed "Connection interrupted; retrying (${n}/3)"`]);
const GAVE_UP = ['item.failed error failed', 'turn.completed failed'];
const BROKEN_OFF = ['item.started agent_message in_progress @a', 'item.delta agent_message @a', 'item.interrupted agent_message interrupted @a'];
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
    omits: labelled(/^item\.completed status completed "(Executing|Auto-loaded|Session context synced|Steer input accepted)/),
  },
  {
    cases: /^sse\/user_input_/,
    why: 'no tool has to be loaded by a first call that does nothing',
    theirs: ['item.started tool in_progress', 'item.completed tool completed'],
    instead: [],
  },
  { cases: /^sse\/user_input_/, why: 'screens learn that a question was answered', adds: /^user_input\.answered/ },
  {
    cases: /^sse\/(auto_approve_thread|approval_remember|approval_remember_next_turn|steer_during_tool)$/,
    why: 'what was approved beforehand is not asked: the reference leaves a prompt on screens that nobody can answer',
    omits: (entry, recorded) =>
      entry.label === 'approval.required' && !recorded.some(({ label, call }) => call === entry.call && /^approval\.(decided|timeout)/.test(label)),
  },
  {
    cases: /^sse\/reasoning_only$/,
    why: 'an empty answer is told in our words',
    theirs: ['item.completed status completed "Model returned reasoning but no answer or tool call; turn ended without output. Send a follow-up to ..."'],
    instead: ['item.completed status completed "The model answered with nothing. Write again, perhaps in other words." @e'],
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
  { cases: /^sse\/approval_timeout$/, why: 'one reminder comes before the end', adds: /^item\.completed status completed "I am still waiting/ },
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
  { cases: /./, why: 'cache hits and reasoning tokens are not told apart yet', lacks: /usage\.(prompt_cache_(hit|miss)_tokens|reasoning_tokens):/ },
];

/** Recorded event streams that are not repeated here. */
export const streamsNotCompared: Array<{ cases: RegExp; why: string }> = [
  { cases: /^sse\/stream_/, why: 'the compatibility stream comes with a later part' },
  { cases: /^sse\/(apply_patch|edit_file|update_plan|shell_\w+)$/, why: 'tools of later parts; their events are those of any tool' },
  { cases: /^sse\/(compact_empty|fork_while_active|patch_while_active)$/, why: 'routes of later parts' },
  { cases: /^sse\/(plain_nousage|no_api_key)$/, why: 'the same events as plain; what differs is the model endpoint' },
  { cases: /^sse\/model_down$/, why: 'the same as fail_500_always: an endpoint that may come back' },
  { cases: /^sse\/fail_cut_before_content$/, why: 'the same as fail_cut_after_tool_call: nothing was shown before the cut' },
  { cases: /^sse\/user_input_unhydrated$/, why: 'the loading call alone' },
];
