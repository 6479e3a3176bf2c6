import { describe, expect, test } from 'vitest';
import { callsOf, hear, refused } from './ask.ts';
import { callChunk, chunk, DONE, event, jsonAnswer, refusal, type ScriptedAnswer, streamed } from './endpoint.ts';

const A = '{"path":"a.txt"}';
const B = '{"path":"b.txt"}';
const READ_A = ['file_read', { path: 'a.txt' }];
const READ_B = ['file_read', { path: 'b.txt' }];
const call = (id: string | null | undefined, args: unknown, more: object = {}) => ({
  ...(id !== undefined && { id }),
  function: { name: 'file_read', arguments: args },
  ...more,
});
const ended = (finish: string | null, ...parts: string[]) => streamed(...parts, chunk({}, finish), DONE);
const calling = (...parts: object[]) => ended('tool_calls', ...parts.map((part) => callChunk(part)));

describe('calls come together', () => {
  test.each<[string, ScriptedAnswer, unknown[]]>([
    [
      'without any number (S1)',
      calling(call('x1', A, { type: 'function' }), call('x2', B, { type: 'function' })),
      [READ_A, READ_B],
    ],
    [
      'two in one chunk without numbers',
      ended('tool_calls', callChunk(call('x1', A), call('x2', B))),
      [READ_A, READ_B],
    ],
    ['all numbered 0, with ids', calling(call('x1', A, { index: 0 }), call('x2', B, { index: 0 })), [READ_A, READ_B]],
    [
      'all numbered 0, without ids',
      calling(call(undefined, A, { index: 0 }), call(undefined, B, { index: 0 })),
      [READ_A, READ_B],
    ],
    [
      'all numbered 0, with one id',
      calling(call('call_0', A, { index: 0 }), call('call_0', B, { index: 0 })),
      [READ_A, READ_B],
    ],
    ['with jumping numbers', calling(call('x1', A, { index: 3 }), call('x2', B, { index: 7 })), [READ_A, READ_B]],
    ['with numbers as text', calling(call('x1', A, { index: '0' }), call('x2', B, { index: '1' })), [READ_A, READ_B]],
    [
      'with a number for every chunk',
      calling(
        { index: 0, id: 'x1', function: { name: 'file_read', arguments: '{"path":' } },
        { index: 1, function: { arguments: '"a.txt"' } },
        { index: 2, function: { arguments: '}' } },
      ),
      [READ_A],
    ],
    [
      'in pieces (S6)',
      calling(
        call('x1', '{', { index: 0 }),
        ...['"path":"', 'a.txt', '"}'].map((args) => ({ index: 0, function: { arguments: args } })),
      ),
      [READ_A],
    ],
    [
      'with an empty id in later chunks (S7)',
      calling(call('x1', '{"path":', { index: 0 }), {
        index: 0,
        id: '',
        type: 'function',
        function: { arguments: '"a.txt"}' },
      }),
      [READ_A],
    ],
    [
      'with a null id and name (S8)',
      calling(
        { index: 0, id: null, type: null, function: { name: 'file_read' } },
        { index: 0, id: null, function: { name: null, arguments: A } },
      ),
      [READ_A],
    ],
    [
      'with a new id in every chunk',
      calling(call('x1', '{"path":', { index: 0 }), { index: 0, id: 'x2', function: { arguments: '"a.txt"}' } }),
      [READ_A],
    ],
    [
      'with a new id and the name in every chunk',
      calling(call('x1', '{"path":', { index: 0 }), call('x2', '"a.txt"}', { index: 0 })),
      [READ_A],
    ],
    [
      'with the name in every chunk and no id',
      calling(call(undefined, '{"path":'), call(undefined, '"a.txt"}')),
      [READ_A],
    ],
    [
      'with the name split',
      calling(
        { index: 0, id: 'x1', function: { name: 'file_' } },
        { index: 0, function: { name: 'read', arguments: A } },
      ),
      [READ_A],
    ],
    [
      'with the name before everything else',
      calling({ id: 'x1', function: { name: 'file_read' } }, { id: 'x1', function: { arguments: A } }),
      [READ_A],
    ],
    ['with arguments as an object', calling(call('x1', { path: 'a.txt' }, { index: 0 })), [READ_A]],
    ['twice, with the same id', calling(call('x1', A, { index: 0 }), call('x1', A, { index: 1 })), [READ_A]],
    [
      'twice, the second time whole',
      calling(
        call('x1', '{"path":', { index: 0 }),
        { index: 0, function: { arguments: '"a.txt"}' } },
        call('x1', A, { index: 0 }),
      ),
      [READ_A],
    ],
    [
      'as an old function_call',
      ended(
        'function_call',
        chunk({ function_call: { name: 'file_read', arguments: '' } }),
        chunk({ function_call: { arguments: A } }),
      ),
      [READ_A],
    ],
    [
      'flat, with an input',
      ended('tool_calls', callChunk({ id: 'x1', name: 'file_read', input: { path: 'a.txt' } })),
      [READ_A],
    ],
    ['as one object instead of a list', ended('tool_calls', chunk({ tool_calls: call('x1', A) })), [READ_A]],
    [
      'as an object of numbers',
      ended('tool_calls', chunk({ tool_calls: { 0: call('x1', A), 1: call('x2', B) } })),
      [READ_A, READ_B],
    ],
    ['under the names of Java', ended(null, chunk({ toolCalls: [call('x1', A)] })), [READ_A]],
    [
      'with "parameters"',
      calling({ index: 0, id: 'x1', function: { name: 'file_read', parameters: { path: 'a.txt' } } }),
      [READ_A],
    ],
    ...[
      ...[
        'default_api:file_read',
        'functions::file_read',
        'tools/file_read',
        'mcp__files__file_read',
        'call:file_read',
      ],
      ...[
        '"file_read"',
        '`file_read`',
        'file_read()',
        '@file_read',
        'file-read',
        'File_Read',
        'fileRead',
        'file_read>',
      ],
    ].map((name): [string, ScriptedAnswer, unknown[]] => [
      `as ${name}`,
      calling({ index: 0, id: 'x1', function: { name, arguments: A } }),
      [READ_A],
    ]),
    [
      'with a number as arguments',
      calling({ index: 0, id: 'x1', function: { name: 'file_read', arguments: 5 } }),
      [['file_read', 5]],
    ],
    [
      'with arguments that repeat what came before',
      calling(...['{"pa', '{"path":"a', A].map((args) => call('x1', args, { index: 0 }))),
      [READ_A],
    ],
    [
      'in pieces, and once more in a whole message with other ids',
      streamed(
        callChunk(call('x1', A, { index: 0 })),
        callChunk(call('x2', B, { index: 1 })),
        event({
          choices: [
            {
              message: { tool_calls: [call('y1', '{"path": "a.txt"}'), call('y2', B)] },
              finish_reason: 'tool_calls',
            },
          ],
        }),
        DONE,
      ),
      [READ_A, READ_B],
    ],
    [
      'two that are equal in one whole message',
      streamed(
        event({ choices: [{ message: { tool_calls: [call('y1', A), call('y2', A)] }, finish_reason: 'tool_calls' }] }),
      ),
      [READ_A, READ_A],
    ],
    ['with the name in place of the function', calling({ id: 'x1', function: 'file_read', arguments: A }), [READ_A]],
    [
      'as a tool of free text',
      calling({ id: 'x1', type: 'custom', custom: { name: 'file_read', input: A } }),
      [READ_A],
    ],
    [
      'beside the delta',
      streamed(event({ choices: [{ delta: {}, tool_calls: [call('x1', A)], finish_reason: 'tool_calls' }] }), DONE),
      [READ_A],
    ],
    ['beside null', ended('tool_calls', chunk({ tool_calls: [null, call('x1', A)] })), [READ_A]],
    [
      'in a second choice',
      ended(
        'tool_calls',
        event({
          choices: [
            { index: 0, delta: { content: 'ok' } },
            { index: 1, delta: { tool_calls: [call('x1', A)] } },
          ],
        }),
      ),
      [READ_A],
    ],
    [
      'as parts of the content',
      ended(
        'tool_use',
        chunk({ content: [{ type: 'tool_use', id: 'x1', name: 'file_read', input: { path: 'a.txt' } }] }),
      ),
      [READ_A],
    ],
    [
      'with a namespace',
      calling({ index: 0, id: 'x1', function: { name: 'functions.file_read', arguments: A } }),
      [READ_A],
    ],
    [
      'with tokens behind the name',
      calling({ index: 0, id: 'x1', function: { name: 'file_read<|channel|>commentary', arguments: A } }),
      [READ_A],
    ],
    [
      'without arguments',
      calling({ index: 0, id: 'x1', function: { name: 'file_list', arguments: '' } }),
      [['file_list', {}]],
    ],
    [
      'behind an empty object',
      calling(call('x1', '{}', { index: 0 }), { index: 0, function: { arguments: A } }),
      [READ_A],
    ],
    ['with the finish "stop" (S9)', ended('stop', callChunk(call('x1', A, { index: 0 }))), [READ_A]],
    ['with the finish "end_turn" (S10)', ended('end_turn', callChunk(call('x1', A, { index: 0 }))), [READ_A]],
    ['with [DONE] alone', streamed(callChunk(call('x1', A, { index: 0 })), DONE), [READ_A]],
  ])('%s', async (_, bytes, expected) => {
    const heard = await hear(bytes);
    expect(callsOf(heard)).toEqual(expected);
    expect(heard.answer.end).toBe('complete');
    const ids = heard.answer.calls.map(({ id }) => id);
    expect([new Set(ids).size, ids.includes('')]).toEqual([ids.length, false]);
  });

  test('two objects as arguments stay one call that cannot run (S5)', async () => {
    expect(callsOf(await hear(calling(call('x1', `${A}${B}`, { index: 0 }))))).toEqual([['file_read', `${A}${B}`]]);
  });

  test('an empty list of calls in each chunk is none (S18)', async () => {
    const heard = await hear(
      ended('stop', chunk({ content: 'Hel', tool_calls: [] }), chunk({ content: 'lo', tool_calls: [] })),
    );
    expect([heard.answer.text, heard.said, heard.answer.calls]).toEqual(['Hello', 'Hello', []]);
  });
});

describe('an answer ends', () => {
  const said = (finish: string | null, delta: object = { content: 'text' }) => ended(finish, chunk(delta));
  test.each([
    ...['stop', 'eos', 'end_turn', 'stop_sequence', 'STOP', 'COMPLETE', 'FinishReason.STOP', '<|im_end|>'],
    ...['</s>', 'eom_id', 'stopped_eos', 'stop_sequences', 'natural_stop', 'message_stop'],
    ...['endTurn', 'toolUse', 'REASON_STOP', 'eot_token', 'matched_stop', 'none', 'FINISH_REASON_UNSPECIFIED'],
  ])('complete with "%s"', async (finish) => {
    expect((await hear(said(finish))).answer).toMatchObject({ text: 'text', end: 'complete' });
  });
  test.each([
    'length',
    'max_tokens',
    'MAX_TOKENS',
    'max_output_tokens',
    'model_length',
    'maxTokens',
    'REASON_MAX_LEN',
    'OTHER',
    'a word of tomorrow',
  ])('cut with "%s"', async (finish) => {
    expect((await hear(said(finish))).answer).toMatchObject({ text: 'text', end: 'cut' });
  });
  test.each([
    'content_filter',
    'sensitive',
    'refusal',
    'SAFETY',
    'RECITATION',
    'PROHIBITED_CONTENT',
    'blocklist',
    'ERROR_TOXIC',
    'guardrailIntervened',
    'IMAGE_SAFETY',
    'denied',
  ])('refused with "%s"', async (finish) => {
    expect((await hear(said(finish, { content: '' }))).answer).toMatchObject({ text: '', end: 'refused', calls: [] });
  });
  test.each([
    'network_error',
    'error',
    'timeout',
    'insufficient_system_resource',
    'MALFORMED_FUNCTION_CALL',
    'abort',
    'MISSING_THOUGHT_SIGNATURE',
    'connection_reset',
    'server_shutdown',
    'load',
    'out_of_memory',
  ])('broken, to be asked again, with "%s"', async (finish) => {
    expect(await refused(said(finish))).toMatchObject({ type: 'ModelStreamBroken', retryable: true });
  });
  test.each([
    'model_context_window_exceeded',
    'context_length_exceeded',
    'ERROR_LIMIT',
    'REASON_MAX_CONTEXT',
    'prompt_too_long',
  ])('because the context is full with "%s"', async (finish) => {
    expect(await refused(said(finish))).toMatchObject({ type: 'ContextOverflow' });
  });

  test.each<[string, ScriptedAnswer, object]>([
    ['[DONE] without a finish', streamed(chunk({ content: 'text' }), DONE), { text: 'text', end: 'complete' }],
    [
      'a connection that closes behind the finish',
      streamed(chunk({ content: 'text' }), chunk({}, 'stop')),
      { text: 'text', end: 'complete' },
    ],
    [
      'a connection that is lost behind the finish',
      { ...streamed(chunk({ content: 'text' }, 'stop')), lost: true },
      { text: 'text', end: 'complete' },
    ],
    [
      'half an event behind the finish',
      streamed(chunk({ content: 'text' }, 'stop'), 'data: {"usage":{"prom'),
      { text: 'text', end: 'complete' },
    ],
    [
      'an empty finish in each chunk',
      streamed(chunk({ content: 'te' }, ''), chunk({ content: 'xt' }, 'stop'), DONE),
      { text: 'text', end: 'complete' },
    ],
    [
      'text and finish in one chunk (S20)',
      ended(null, chunk({ content: 'the' }), chunk({ content: ' end' }, 'length')),
      { text: 'the end', end: 'cut' },
    ],
    [
      '"tool_calls" and no call anywhere (S14)',
      streamed(chunk({ role: 'assistant', content: '' }), chunk({}, 'tool_calls'), DONE),
      { text: '', calls: [], end: 'complete' },
    ],
    [
      'a call and the reason of its cut under another name',
      streamed(
        callChunk(call('x1', A, { index: 0 })),
        event({ choices: [{ delta: {}, finish_reason: null, stop_reason: 'max_tokens' }] }),
        DONE,
      ),
      { calls: [{ name: 'file_read' }], end: 'cut' },
    ],
    [
      'a reason beside the choices',
      streamed(chunk({ content: 'the' }), event({ choices: [], finish_reason: 'length' }), DONE),
      { text: 'the', end: 'cut' },
    ],
    [
      'a reason of the provider that says more (OpenRouter)',
      streamed(
        event({ choices: [{ delta: { content: 'the' }, finish_reason: 'stop', native_finish_reason: 'MAX_TOKENS' }] }),
      ),
      { text: 'the', end: 'cut' },
    ],
    [
      'the word at which vLLM stopped',
      streamed(event({ choices: [{ delta: { content: 'the' }, finish_reason: 'stop', stop_reason: '</answer>' }] })),
      { text: 'the', end: 'complete' },
    ],
    [
      'a refusal in a field of its own',
      ended('stop', chunk({ refusal: 'I will ' }), chunk({ refusal: 'not.' })),
      { text: 'I will not.', end: 'refused' },
    ],
    [
      'a call that was cut',
      ended('length', callChunk(call('x1', '{"path":"a', { index: 0 }))),
      { calls: [{ arguments: '{"path":"a' }], end: 'cut' },
    ],
  ])('with %s', async (_, bytes, expected) => {
    expect((await hear(bytes)).answer).toMatchObject(expected);
  });

  test.each<[string, ScriptedAnswer]>([
    ['text and no end', streamed(chunk({ content: 'half' }))],
    [
      'text and half a call (S12)',
      streamed(chunk({ content: 'half' }), callChunk(call('x1', '{"path":', { index: 0 }))),
    ],
    ['a lost connection', { ...streamed(chunk({ content: 'half' })), lost: true }],
    ['half a call and [DONE]', streamed(callChunk(call('x1', '{"path":', { index: 0 })), DONE)],
    ['half a call, "stop" and no [DONE]', streamed(callChunk(call('x1', '{"path":', { index: 0 })), chunk({}, 'stop'))],
    [
      'an error behind some text (S25)',
      streamed(
        ': OPENROUTER PROCESSING\n\n',
        chunk({ content: 'half' }),
        event({
          id: 'g',
          error: { code: 'server_error', message: 'Provider disconnected' },
          choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
        }),
      ),
    ],
    [
      'an error inside of the choice',
      streamed(chunk({ content: 'half' }), event({ choices: [{ index: 0, delta: {}, error: { message: 'gone' } }] })),
    ],
    ['an error event', streamed(chunk({ content: 'half' }), 'event: error\ndata: {"message":"gone"}\n\n')],
    ['an error without "data:"', streamed(chunk({ content: 'half' }), '{"error":{"message":"gone"}}\n\n')],
    ['nothing', streamed('')],
    ['[DONE] alone', streamed(DONE)],
    [
      'a page of a proxy',
      { headers: { 'content-type': 'text/html' }, body: '<html><head><title>502 Bad Gateway</title></head></html>' },
    ],
  ])('broken with %s, to be asked again', async (_, bytes) => {
    expect(await refused(bytes)).toMatchObject({ type: 'ModelStreamBroken', retryable: true });
  });

  test('an error inside of a stream tells its sentence and its kind', async () => {
    const inside = async (error: object) => await refused(streamed(chunk({ content: 'half' }), event({ error })));
    expect(await inside({ code: 429, message: 'slow down' })).toMatchObject({
      type: 'ModelRateLimited',
      message: expect.stringContaining('slow down'),
    });
    expect(await inside({ type: 'rate_limit_error', message: 'slow' })).toMatchObject({ type: 'ModelRateLimited' });
    expect(await inside({ code: 'overloaded', message: 'busy' })).toMatchObject({
      type: 'ModelStreamBroken',
      message: expect.stringContaining('busy'),
    });
    expect(await inside({ message: 'maximum context length is 5' })).toMatchObject({ type: 'ContextOverflow' });
  });
});

describe('a body is read', () => {
  const text = (body: string, type = 'text/event-stream'): ScriptedAnswer => ({
    headers: { 'content-type': type },
    body,
  });
  const hi = chunk({ content: 'hé' }) + chunk({}, 'stop') + DONE;
  const whole = {
    model: 'real',
    choices: [{ index: 0, message: { role: 'assistant', content: 'hé' }, finish_reason: 'stop' }],
  };
  test.each([
    '{"message":{"content":"Half"},"done":false}',
    '{"message":{"content":"Half"},"done":false}\n',
    '{"choices":[{"index":0,"delta":{"content":"Half"},"finish_reason":null}]}',
  ])('and the first of its lines is no answer: %s', async (body) => {
    expect(await refused({ body })).toMatchObject({ type: 'ModelStreamBroken' });
  });

  test.each<[string, ScriptedAnswer]>([
    ['with CRLF', text(hi.replaceAll('\n', '\r\n'))],
    ['with CR', text(hi.replaceAll('\n', '\r'))],
    ['without a space behind "data:"', text(hi.replaceAll('data: ', 'data:'))],
    ['with a mark of byte order', text(`\uFEFF${hi}`)],
    [
      'with comments, blank lines and names of events',
      text(`\n\n: ping\n\n${hi.replaceAll('data:', 'event: message\nid: 1\nretry: 5\ndata:')}`),
    ],
    ['with "data:" written twice', text(hi.replaceAll('data:', 'data: data:'))],
    ['with DONE in no brackets', text(hi.replace('[DONE]', 'DONE'))],
    ['with another last word', text(hi.replace('[DONE]', '[END]'))],
    ['with its end as an event', text(hi.replace('data: [DONE]', 'event: done\ndata: {}'))],
    ['with numbers that are none', text(hi.replace('"created":1', '"created":NaN'))],
    ['from a text in place of the delta', text(event({ choices: [{ delta: 'hé', finish_reason: 'stop' }] }) + DONE)],
    ['without blank lines', text(hi.replaceAll('\n\n', '\n'))],
    ['without the last blank line', text(hi.trimEnd())],
    ['with words as signs of life', text(`data: ping\n\n${hi}`)],
    ['with null and empty data', text(`data:\n\ndata: null\n\n${hi}`)],
    ['with the type of JSON', text(hi, 'application/json')],
    ['with no type', { headers: {}, body: hi }],
    ['whole', jsonAnswer(whole)],
    ['whole with the type of a stream', text(JSON.stringify(whole, null, 2))],
    ['whole without a finish', jsonAnswer({ choices: [{ message: { content: 'hé' } }] })],
    ['as a list', jsonAnswer([whole])],
    [
      'as lines of JSON (Ollama)',
      text(
        '{"message":{"content":"h"},"done":false}\n{"message":{"content":"é"},"done":false}\n{"message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":2}\n',
        'application/x-ndjson',
      ),
    ],
    [
      'from "message" instead of "delta"',
      text(
        event({ choices: [{ message: { content: 'h' } }] }) +
          event({ choices: [{ message: { content: 'é' }, finish_reason: 'stop' }] }),
      ),
    ],
    [
      'from messages that repeat what came before',
      text(
        event({ choices: [{ message: { content: 'h' } }] }) +
          event({ choices: [{ message: { content: 'hé' }, finish_reason: 'stop' }] }),
      ),
    ],
    [
      'from deltas with the whole message behind them',
      text(
        chunk({ content: 'h' }) +
          chunk({ content: 'é' }) +
          event({ choices: [{ delta: {}, message: { content: 'hé' }, finish_reason: 'stop' }] }),
      ),
    ],
    ['from parts of text', text(chunk({ content: [{ type: 'text', text: 'hé' }] }, 'stop'))],
    [
      'with errors that are none',
      text(event({ error: null, choices: [{ delta: { content: 'hé' }, finish_reason: 'stop' }] }) + DONE),
    ],
  ])('%s', async (_, bytes) => {
    const heard = await hear(bytes);
    expect([heard.answer.text, heard.said, heard.answer.end]).toEqual(['hé', 'hé', 'complete']);
  });

  test('the notes of Azure around an answer change nothing (S19)', async () => {
    const { answer } = await hear(
      streamed(
        event({ id: '', choices: [], model: '', prompt_filter_results: [{ prompt_index: 0 }] }),
        chunk({ content: 'hello' }),
        chunk({}, 'stop'),
        event({
          id: '',
          choices: [{ finish_reason: null, index: 0, content_filter_offsets: { check_offset: 1 } }],
          model: '',
        }),
        DONE,
      ),
    );
    expect(answer).toMatchObject({ text: 'hello', model: 'm', end: 'complete' });
  });
});

describe('an answer in another protocol is an answer', () => {
  const USED = { inputTokens: 7, outputTokens: 5 };
  const anthropic = (...blocks: object[]) =>
    streamed(
      event({
        type: 'message_start',
        message: { role: 'assistant', content: [], model: 'claude', usage: { input_tokens: 7, output_tokens: 1 } },
      }),
      event({ type: 'ping' }),
      ...blocks.map(event),
      event({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } }),
      event({ type: 'message_stop' }),
    );
  const block = (index: number, content_block: object, ...deltas: object[]) => [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
  const item = { type: 'function_call', id: 'fc_1', call_id: 'x1', name: 'file_read', arguments: A };
  const message = { type: 'message', content: [{ type: 'output_text', text: 'I look.' }] };
  const response = {
    object: 'response',
    model: 'gpt',
    status: 'completed',
    output: [message, item],
    usage: { input_tokens: 7, output_tokens: 5 },
  };
  const gemini = (parts: object[], more: object = {}) => ({
    candidates: [{ content: { role: 'model', parts }, ...more }],
    modelVersion: 'gemini',
  });

  test.each<[string, ScriptedAnswer]>([
    [
      'events of Anthropic',
      anthropic(
        ...block(
          0,
          { type: 'thinking', thinking: '' },
          { type: 'thinking_delta', thinking: 'hm' },
          { type: 'signature_delta', signature: 's' },
        ),
        ...block(
          1,
          { type: 'text', text: '' },
          { type: 'text_delta', text: 'I ' },
          { type: 'text_delta', text: 'look.' },
        ),
        ...block(
          2,
          { type: 'tool_use', id: 'x1', name: 'file_read', input: {} },
          { type: 'input_json_delta', partial_json: '' },
          { type: 'input_json_delta', partial_json: '{"path":' },
          { type: 'input_json_delta', partial_json: '"a.txt"}' },
        ),
      ),
    ],
    [
      'an answer of Anthropic',
      jsonAnswer({
        type: 'message',
        role: 'assistant',
        model: 'claude',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 's' },
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'x1', name: 'file_read', input: { path: 'a.txt' } },
        ],
        stop_reason: 'tool_use',
        usage: { input_tokens: 7, output_tokens: 5 },
      }),
    ],
    [
      'events of Responses',
      streamed(
        event({ type: 'response.created', response: { ...response, status: 'in_progress', output: [] } }),
        event({ type: 'response.reasoning_summary_text.delta', output_index: 0, delta: 'hm' }),
        event({ type: 'response.output_text.delta', output_index: 1, delta: 'I ' }),
        event({ type: 'response.output_text.delta', output_index: 1, delta: 'look.' }),
        event({ type: 'response.output_item.done', output_index: 1, item: message }),
        event({ type: 'response.output_item.added', output_index: 2, item: { ...item, arguments: '' } }),
        event({ type: 'response.function_call_arguments.delta', output_index: 2, delta: A }),
        event({ type: 'response.output_item.done', output_index: 2, item }),
        event({ type: 'response.completed', response }),
      ),
    ],
    [
      'an answer of Responses',
      jsonAnswer({ ...response, output: [{ type: 'reasoning', summary: [{ text: 'hm' }] }, ...response.output] }),
    ],
    [
      'events of Gemini',
      streamed(
        event(gemini([{ text: 'hm', thought: true }])),
        event(gemini([{ text: 'I look.' }])),
        event({
          ...gemini([{ functionCall: { name: 'file_read', args: { path: 'a.txt' } }, thoughtSignature: 's' }], {
            finishReason: 'STOP',
          }),
          usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 5 },
        }),
      ),
    ],
  ])('%s', async (_, bytes) => {
    const heard = await hear(bytes);
    expect([heard.answer.text, heard.said, heard.answer.reasoning, callsOf(heard)]).toEqual([
      'I look.',
      'I look.',
      'hm',
      [['file_read', { path: 'a.txt' }]],
    ]);
    expect(heard.answer.usage).toMatchObject(USED);
  });

  test('with two calls of one tool', async () => {
    const part = (path: string) => ({ functionCall: { name: 'file_read', args: { path } } });
    const heard = await hear(streamed(event(gemini([part('a.txt'), part('b.txt')], { finishReason: 'STOP' }))));
    expect(callsOf(heard).map(([, args]) => args)).toEqual([{ path: 'a.txt' }, { path: 'b.txt' }]);
  });

  test('that was cut is cut', async () => {
    const ends = [
      event({ type: 'message_delta', delta: { stop_reason: 'max_tokens' } }) + event({ type: 'message_stop' }),
      event({
        type: 'response.incomplete',
        response: {
          ...response,
          status: 'incomplete',
          output: [message],
          incomplete_details: { reason: 'max_output_tokens' },
        },
      }),
      event(gemini([], { finishReason: 'MAX_TOKENS' })),
    ];
    for (const end of ends) expect((await hear(streamed(end))).answer.end).toBe('cut');
  });

  test('that broke off is asked for again, and an error there is told', async () => {
    const begun = event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'I' } });
    expect(await refused(streamed(begun))).toMatchObject({ type: 'ModelStreamBroken' });
    const failed = { type: 'response.failed', response: { error: { code: 'server_error', message: 'It broke.' } } };
    expect(await refused(streamed(event(failed)))).toMatchObject({ message: expect.stringContaining('It broke.') });
  });

  test('that none knows gets a sentence that says so', async () => {
    const strange = [event({ type: 'chat-started', text: 'hi' }), event({ type: 'chat-ended' }), DONE];
    expect(await refused(streamed(...strange))).toMatchObject({
      type: 'ModelStreamBroken',
      message: 'LLM error: the endpoint sent nothing in the form of a chat completion',
    });
  });
});

describe('usage is found', () => {
  const plain = { prompt_tokens: 16, completion_tokens: 4 };
  test.each<[string, string[], object]>([
    ['in a chunk of its own', [chunk({ content: 'x' }, 'stop'), event({ choices: [], usage: plain })], {}],
    [
      'in every chunk, growing (S29)',
      [2, 3, 4].map((out) =>
        chunk({ content: 'x' }, out === 4 ? 'stop' : null, { usage: { prompt_tokens: 16, completion_tokens: out } }),
      ),
      {},
    ],
    ['as null at first', [chunk({ content: 'x' }, null, { usage: null }), chunk({}, 'stop', { usage: plain })], {}],
    [
      'inside of the choice',
      [event({ choices: [{ delta: { content: 'x' }, finish_reason: 'stop', usage: plain }] })],
      {},
    ],
    ['where Groq puts it', [chunk({ content: 'x' }, 'stop', { x_groq: { usage: plain } })], {}],
    [
      'under the names of Anthropic, in two parts',
      [
        chunk({ content: 'x' }, null, { usage: { input_tokens: 16, output_tokens: 0 } }),
        chunk({}, 'stop', { usage: { output_tokens: 4 } }),
      ],
      {},
    ],
    [
      'under the names of Gemini',
      [chunk({ content: 'x' }, 'stop', { usageMetadata: { promptTokenCount: 16, candidatesTokenCount: 4 } })],
      {},
    ],
    [
      'where Bedrock puts it',
      [
        chunk({ content: 'x' }, 'stop', {
          'amazon-bedrock-invocationMetrics': { inputTokenCount: 16, outputTokenCount: 4, firstByteLatency: 9 },
        }),
      ],
      {},
    ],
    ['inside of anything', [chunk({ content: 'x' }, 'stop', { metadata: { usage: plain } })], {}],
    ['as text', [chunk({ content: 'x' }, 'stop', { usage: { prompt_tokens: '16', completion_tokens: '4' } })], {}],
    [
      'with what came from the cache',
      [chunk({ content: 'x' }, 'stop', { usage: { ...plain, prompt_tokens_details: { cached_tokens: 8 } } })],
      { cachedTokens: 8 },
    ],
    ['behind the last word', [chunk({ content: 'x' }, 'stop'), `${DONE}${event({ usage: plain })}`], {}],
  ])('%s', async (_, parts, more) => {
    const { answer } = await hear(streamed(...parts, DONE));
    expect(answer).toMatchObject({ usage: { inputTokens: 16, outputTokens: 4, ...more }, usageEstimated: false });
  });
});

test('an endpoint that reports no tokens at all does not count them', async () => {
  const none = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  const { answer } = await hear(streamed(chunk({ content: 'four' }, 'stop', { usage: none }), DONE));
  expect(answer).toMatchObject({ usage: { outputTokens: 1 }, usageEstimated: true });
});

test.each([
  { thinking_content: 'hm' },
  { reasoningContent: 'hm' },
  { thoughts: 'hm' },
  { reasoning: { content: 'hm' } },
  { content: 'hm', extra_content: { google: { thought: true } } },
])('thoughts are read from %j', async (delta) => {
  const heard = await hear(streamed(chunk(delta), chunk({ content: 'Yes.' }, 'stop'), DONE));
  expect([heard.thought, heard.said]).toEqual(['hm', 'Yes.']);
});

describe('a refusal tells its sentence', () => {
  test.each<[string, ScriptedAnswer, string, string]>([
    [
      'in a list (S30)',
      refusal(400, [
        { error: { code: 400, message: 'Function call is missing a thought_signature', status: 'INVALID_ARGUMENT' } },
      ]),
      'ModelRejected',
      'Function call is missing a thought_signature',
    ],
    [
      'as octets (S31)',
      {
        status: 400,
        headers: { 'content-type': 'application/octet-stream' },
        body: '{"error":{"message":"The reasoning_content must be passed back"}}',
      },
      'ModelRejected',
      'The reasoning_content must be passed back',
    ],
    [
      'of a gateway (S32)',
      refusal(500, {
        success: false,
        error: { code: 'INTERNAL_SERVER_ERROR', status: 500, message: 'An unexpected error occurred.' },
      }),
      'ModelUnavailable',
      'An unexpected error occurred.',
    ],
    ['as detail', refusal(400, { detail: 'no such field' }), 'ModelRejected', 'no such field'],
    [
      'as a list of details',
      refusal(422, { detail: [{ loc: ['body', 'tools'], msg: 'Field required', type: 'missing' }] }),
      'ModelRejected',
      'body.tools: Field required',
    ],
    [
      'as a message at the top',
      refusal(400, {
        object: 'error',
        message: 'Tool call id was wrong',
        type: 'invalid_function_call',
        param: null,
        code: '3280',
      }),
      'ModelRejected',
      'Tool call id was wrong',
    ],
    ['as a text error', refusal(400, { error: 'model not loaded' }), 'ModelRejected', 'model not loaded'],
    [
      'as JSON in a text',
      refusal(400, { error: { message: '{"error":{"message":"inner sentence"}}' } }),
      'ModelRejected',
      'inner sentence',
    ],
    [
      'one inside of another',
      refusal(500, { error: { error: { message: 'deep sentence' } } }),
      'ModelUnavailable',
      'deep sentence',
    ],
    [
      'as a page',
      {
        status: 502,
        headers: { 'content-type': 'text/html' },
        body: '<html><head><title>502 Bad Gateway</title></head><body>…</body></html>',
      },
      'ModelUnavailable',
      '502 Bad Gateway',
    ],
    [
      'as plain text',
      { status: 503, headers: { 'content-type': 'text/plain' }, body: 'upstream connect error' },
      'ModelUnavailable',
      'upstream connect error',
    ],
  ])('%s', async (_, bytes, type, sentence) => {
    const error = await refused(bytes);
    expect([error.type, error.message.slice(error.message.indexOf(': ') + 2)]).toEqual([type, sentence]);
  });

  test('with the field and the code that it names', async () => {
    const error = await refused(
      refusal(400, { error: { message: 'no', param: 'reasoning_effort', code: 'unsupported_parameter' } }),
    );
    expect([error.param, error.code, error.status]).toEqual(['reasoning_effort', 'unsupported_parameter', 400]);
  });
});

describe('a call that Groq could not read', () => {
  const failed = (failed_generation: string) =>
    refusal(400, {
      error: {
        message: 'Failed to call a function.',
        type: 'invalid_request_error',
        code: 'tool_use_failed',
        failed_generation,
      },
    });
  test.each([
    '<function=file_read={"path": "a.txt"}</function>',
    '<function=file_read>{"path": "a.txt"}</function>',
    '{"name": "file_read", "arguments": {"path": "a.txt"}}',
    '<tool_call>{"name": "file_read", "arguments": {"path": "a.txt"}}</tool_call>',
  ])('is read from %s (S28)', async (generation) => {
    expect(callsOf(await hear(failed(generation)))).toEqual([READ_A]);
  });
  test('is asked for again when it cannot be read', async () => {
    expect(await refused(failed('I would read it'))).toMatchObject({
      type: 'ModelStreamBroken',
      retryable: true,
      message: expect.stringContaining('Failed to call'),
    });
  });
});

describe('what a provider wants back is kept', () => {
  test('thoughts, and the own fields of each call', async () => {
    const { answer } = await hear(
      streamed(
        chunk({ reasoning_content: 'I ' }),
        chunk({ reasoning_content: 'think' }),
        callChunk({
          index: 0,
          id: 'x1',
          type: 'function',
          function: { name: 'file_read', arguments: A },
          extra_content: { google: { thought_signature: 'c2lnMQ==' } },
        }),
        callChunk({ index: 1, id: 'x2', type: 'function', function: { name: 'file_read', arguments: B } }),
        chunk({}, 'tool_calls'),
        DONE,
      ),
    );
    expect(answer.state).toMatchObject({
      wire: 'chat',
      endpoint: expect.stringMatching(/^http:.*\/v1$/),
      model: 'm',
      data: {
        message: { reasoning_content: 'I think' },
        calls: [{ extra_content: { google: { thought_signature: 'c2lnMQ==' } } }, null],
      },
    });
  });

  test('details of thoughts are joined by their index', async () => {
    const details = (...all: object[]) => chunk({ reasoning_details: all });
    const { answer } = await hear(
      streamed(
        details({ type: 'reasoning.text', index: 0, text: 'I ' }),
        details({ type: 'reasoning.text', index: 0, text: 'think', signature: null }),
        details(
          { type: 'reasoning.text', index: 0, signature: 's1' },
          { type: 'reasoning.encrypted', index: 1, data: 'abc' },
        ),
        chunk({ content: 'hi' }, 'stop'),
        DONE,
      ),
    );
    expect([answer.reasoning, answer.state?.data]).toEqual([
      'I think',
      {
        message: {
          reasoning_details: [
            { type: 'reasoning.text', index: 0, text: 'I think', signature: 's1' },
            { type: 'reasoning.encrypted', index: 1, data: 'abc' },
          ],
        },
      },
    ]);
  });

  test('also under other names, and beside the name of a call', async () => {
    const { answer } = await hear(
      streamed(
        chunk({ thought_signature: 's1', provider_specific_fields: { thought_signatures: ['s1'], refusal: null } }),
        chunk({ thought_signature: 's1', provider_specific_fields: { citations: null } }),
        callChunk({ index: 0, id: 'x1', function: { name: 'file_read', arguments: A, thought_signature: 's2' } }),
        chunk({}, 'tool_calls'),
        DONE,
      ),
    );
    expect(answer.state?.data).toEqual({
      message: {
        thought_signature: 's1',
        provider_specific_fields: { thought_signatures: ['s1'], refusal: null },
      },
      calls: [{ function_fields: { thought_signature: 's2' } }],
    });
  });

  test.each([
    [
      'that details of thoughts name (OpenRouter)',
      'tool_0_file_read',
      [{ type: 'reasoning.encrypted', id: 'tool_0_file_read', data: 'z' }],
    ],
    ['that holds a signature (LiteLLM)', `call_1__thought__${'c2ln'.repeat(20)}`, []],
  ])('the id of a call %s', async (_, id, details) => {
    const { answer } = await hear(
      streamed(
        chunk({ reasoning_details: details }),
        callChunk(call(id, A, { index: 0 })),
        chunk({}, 'tool_calls'),
        DONE,
      ),
    );
    expect(answer.state?.data).toMatchObject({ calls: [{ id }] });
  });

  test('and nothing where there is nothing', async () => {
    expect((await hear(ended('stop', chunk({ content: 'hi', reasoning_content: '' })))).answer.state).toBeUndefined();
  });
});
