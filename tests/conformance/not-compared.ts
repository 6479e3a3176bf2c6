/** Recordings that are not compared where their like are. docs/differences.md names those that no test compares. */
export interface NotCompared {
  cases: RegExp;
  why: string;
  /** the test that compares them, in this folder */
  by?: string;
}

/** Of the exchanges that `http.test.ts` replays. */
export const notCompared: NotCompared[] = [
  {
    cases: /^http\/thread\/get_after_overrides$/,
    why: 'a turn that has ended needs a worker; its detail is compared with its events',
    by: 'turn-events.test.ts',
  },
  {
    cases: /^http\/sessions\/(get_blocks|get_unparsable|order_resume|resume_blocks|resume_blocks_detail)$/,
    why: 'files that were put into the folder of the reference: here a session is a thread, and there are no such files',
  },
  {
    cases: /^http\/compact\/empty_thread_after$/,
    why: 'a turn that has ended needs a worker',
    by: 'conversations.test.ts',
  },
  {
    cases: /^http\/turns\/interrupt_unknown_loaded$/,
    why: 'recorded with an id that is masked; the same answer as `interrupt_after`',
  },
];

/** Of the event streams that `turn-events.test.ts` repeats. */
export const streamsNotCompared: NotCompared[] = [
  {
    cases: /^(sse\/stream_\w+|http\/events\/session_resume_backlog)$/,
    why: 'other frames',
    by: 'conversations.test.ts',
  },
];

/** Of the sessions that `background.test.ts` tells again. */
export const backgroundNotCompared: NotCompared[] = [
  {
    cases: /^tasks\/(create_full|get_full_done|approve|get_after_approval|cancel_pending_approval)$/,
    why: 'tools of the reference; `background-tasks.test.ts` does the same with ours',
  },
];

/** Recordings of which `golden/` has no copy. */
export const notCopied: NotCompared[] = [
  { cases: /^auth\/(3|5)$/, why: 'lines that `serve` prints', by: '../integration/cli/serve.test.ts' },
  {
    cases: /^http-compact\/5$/,
    why: 'the copy has a name: `http/compact/empty_thread_after`',
    by: 'conversations.test.ts',
  },
  { cases: /^http-usage\/1$/, why: 'the same report as `http/usage/group_thread`', by: 'http.test.ts' },
  {
    cases: /^sse\/44$/,
    why: 'figures of a slow reader, which loses events; here it gets all of them',
    by: 'events.test.ts',
  },
  {
    cases: /^sse\/(user_input_answer_http|user_input_wrong_id_http)$/,
    why: 'answers while a question is open',
    by: 'scenarios.ts',
  },
  { cases: /^sse\/user_input_unhydrated$/, why: 'only the call that loads a tool; here no tool has to be loaded' },
  {
    cases: /^sse\/fail_cut_before_content$/,
    why: 'as `sse/fail_cut_after_tool_call`: nothing was shown before the cut',
  },
  { cases: /^sse\/model_down$/, why: 'as `sse/fail_500_always`: an endpoint that may come back' },
  {
    cases: /^restart\/(1|2)$/,
    why: 'one missed firing every 15 s, and a run that fails at a restart: see the table of automations',
  },
  { cases: /^restart\/5$/, why: 'names and sizes of files: records are in a database' },
  {
    cases: /^restart\/(6|7|8|9)$/,
    why: 'zombie turns, lost tool calls and lost words: defects, which `tests/chaos` looks for here',
  },
  { cases: /^restart\/torn_line_(detail|events|turn)$/, why: 'a torn line of a log file: there are no such files' },
];
