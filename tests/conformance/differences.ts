/** Where this server answers otherwise than the reference on purpose. docs/differences.md says the same for readers. */
export interface Difference {
  cases: RegExp;
  why: string;
  status?: number;
  body?: RegExp;
  allow?: string;
}

export const differences: Difference[] = [
  { cases: /^http\/auth\/cookie$/, status: 200, body: /^\[/, why: 'the cookie form of later releases is accepted' },
  { cases: /^http\/public\/mobile_disabled_slash$/, status: 404, body: /^$/, why: 'there is no mobile page; the reference names its own command in the text' },
  { cases: /^http\/public\/info(_bad_token)?$/, body: /"auth_required":true/, why: 'further fields are added; the four of the contract stay' },
  { cases: /^http\/method\/(POST|PUT)_hreads_t$/, allow: 'GET,HEAD', why: 'PATCH of a thread comes with a later part' },
  { cases: /^http\/method\/POST_hreads_summary$/, allow: 'GET,HEAD', why: 'the path is read as a thread id until summaries come' },
  {
    cases: /^http\/thread\/(steer|interrupt)_(?!badutf8)/,
    status: 404,
    body: /Thread not found/,
    why: '"Thread is not loaded" is an artefact of engines in memory',
  },
  { cases: /^http\/steer\/bad_bool_str$/, status: 409, body: /active/, why: 'the same: nothing is ever unloaded' },
  { cases: /^http\/turns\/steer_unknown_turn_unloaded$/, status: 409, body: /No active turn/, why: 'the same: nothing is ever unloaded' },
  { cases: /^http\/turns\/steer_old_id$/, status: 409, body: /active/, why: 'the text depends on what runs at that moment' },
  { cases: /^http\/thread\/get$/, body: /"pending_approvals":\[\]/, why: 'pending_* lists are added, as in later releases; latest_seq depends on the store' },
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
    cases:
      /^http\/method\/(DELETE_asks|GET_utomations|GET_kills|GET_hreads_t_fork|POST_pps|POST_utomations|POST_essions|POST_napshots|POST_orkspace|PUT_utomations)/,
    why: 'routes of later parts',
  },
  { cases: /^http\/threads_list\/(arch_false|arch_only|final|incl_true|limit1)$/, why: 'lists whatever the recording session had made' },
  { cases: /^http\/thread\/(get_active|get_after_overrides)$/, why: 'a transcript of the reference model' },
  { cases: /^http\/turns\/interrupt_unknown_loaded$/, why: 'recorded with an id that is masked; the same answer as interrupt_after' },
];
