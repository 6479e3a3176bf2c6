import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { openaiModel } from '../../../src/adapters/model/endpoint/openai.ts';
import type { ModelMessage } from '../../../src/contracts/model.ts';
import { type DialogueMessage, toModelMessages } from '../../../src/domain/chat/context/context.ts';
import { type FileShown, SHOWN_FILE_CHARS } from '../../../src/domain/text/files.ts';

const said = (attachment_ids: string[]): DialogueMessage => ({
  ord: 1,
  role: 'user',
  content: 'look at this',
  call_ids: [],
  attachment_ids,
  tokens: 1,
});
const file = (fields: Partial<FileShown>): [string, FileShown] => {
  const shown: FileShown = { id: 'att_1', kind: 'document', name: 'a.csv', text: null, picture: null, ...fields };
  return [shown.id, shown];
};

describe('files in a model request', () => {
  it('are the pictures of a message, and the text of its documents, cut where it is long', () => {
    const files = new Map([
      file({ text: 'x,y' }),
      file({ id: 'att_2', kind: 'image', name: null, picture: '/9j/' }),
      file({ id: 'att_3', name: 'long.txt', text: 'z'.repeat(SHOWN_FILE_CHARS + 1) }),
      file({ id: 'att_4', kind: 'audio', text: 'said already' }),
    ]);
    const [, user] = toModelMessages(
      'system',
      null,
      [said(['att_1', 'att_2', 'att_3', 'att_4', 'att_gone'])],
      new Map(),
      files,
    ) as [ModelMessage, ModelMessage];
    expect(user).toMatchObject({ role: 'user', pictures: ['/9j/'] });
    expect(user.content).toContain('look at this\n\n[the text of a.csv]\n| x,y\n');
    expect(user.content).toContain(
      `[cut at ${SHOWN_FILE_CHARS} of ${SHOWN_FILE_CHARS + 1} characters; read on with read_output {"callId":"att_3","offset":${SHOWN_FILE_CHARS}}]`,
    );
    expect(user.content).toMatch(/\n\n\[attached: att_1 \(a\.csv\), att_2 \(picture\), att_3 \(long\.txt\)\]$/);
    expect(user.content).not.toContain('said already');
    expect(toModelMessages('system', null, [said([])], new Map(), files)[1]).toEqual({
      role: 'user',
      content: 'look at this',
    });
  });
});

it('pictures that tools made stand after the results of their step, as words of a program', () => {
  const call = (id: string, picture: string | null) =>
    [id, { id, name: 'browser_screenshot', args: {}, state: 'done', output: 'stored', picture }] as const;
  const calls = new Map([call('call_1', 'att_1'), call('call_2', null), call('call_3', 'att_old')]);
  const files = new Map([
    file({ id: 'att_1', kind: 'image', picture: '/9j/' }),
    file({ id: 'att_old', kind: 'image', picture: null }),
  ]);
  const step = { ord: 1, role: 'assistant' as const, content: '', call_ids: ['call_1', 'call_2', 'call_3'], tokens: 1 };
  const messages = toModelMessages('system', null, [step], calls, files);
  expect(messages.map(({ role }) => role)).toEqual(['system', 'assistant', 'tool', 'tool', 'tool', 'user']);
  expect(messages.at(-1)).toEqual({
    role: 'user',
    content: '[Not a message of the person: pictures that tools made]\n| att_1, made by browser_screenshot',
    pictures: ['/9j/'],
  });
});

describe('pictures for an endpoint', () => {
  const closers: Array<() => void> = [];
  afterEach(() => {
    for (const close of closers.splice(0)) close();
  });
  const messages: ModelMessage[] = [{ role: 'user', content: 'what is this?', pictures: ['/9j/AAA'] }];
  const ask = (signal = new AbortController().signal) => ({
    model: 'm',
    messages,
    tools: [],
    signal,
    onDelta: () => {},
    requestId: 'r',
  });

  async function model(refuse: { status: number; message: string } | null) {
    const bodies: Array<{ messages: Array<{ content: unknown }> }> = [];
    const server = createServer(async (request, response) => {
      let text = '';
      for await (const chunk of request) text += chunk;
      const body = JSON.parse(text);
      bodies.push(body);
      const pictures = Array.isArray(body.messages[0].content);
      if (refuse && pictures)
        return void response
          .writeHead(refuse.status, { 'content-type': 'application/json' })
          .end(JSON.stringify({ error: { message: refuse.message } }));
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ choices: [{ message: { content: 'a dog' }, finish_reason: 'stop' }] }));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    closers.push(() => server.close());
    return {
      bodies,
      model: openaiModel({
        kind: 'custom',
        baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
        name: 'm',
      }),
    };
  }

  it('travel inside the request', async () => {
    const { bodies, model: seeing } = await model(null);
    expect((await seeing.complete(ask())).text).toBe('a dog');
    expect(bodies[0]!.messages[0]!.content).toEqual([
      { type: 'text', text: 'what is this?' },
      { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,/9j/AAA' } },
    ]);
  });

  it.each([
    [400, 'messages[0].content must be a string'],
    [404, 'No endpoints found that support image input'],
    [500, 'image input is not supported - hint: you may need to provide the mmproj'],
  ])('are left out, with a note and for good, where the endpoint answers %i to them', async (status, message) => {
    const { bodies, model: blind } = await model({ status, message });
    expect((await blind.complete(ask())).text).toBe('a dog');
    expect((await blind.complete(ask())).text).toBe('a dog');
    expect(bodies).toHaveLength(3);
    expect(bodies[1]!.messages[0]!.content).toContain('You cannot see pictures');
  });

  it('do not hide another failure', async () => {
    const { model: down } = await model({ status: 503, message: 'overloaded' });
    await expect(down.complete(ask())).rejects.toThrow('overloaded');
  });
});
