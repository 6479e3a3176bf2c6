import { expect, onTestFinished, test } from 'vitest';
import { report } from '../../../scripts/wire.ts';
import { calls, chunk, refusal, type ScriptedAnswer, says, startEndpoint, streamed } from './endpoint.ts';

const reported = async (...answers: ScriptedAnswer[]) => {
  const endpoint = await startEndpoint({ answers, pages: { '/v1/models': { data: [{ id: 'm' }, { id: 'n' }] } } });
  onTestFinished(() => endpoint.close());
  const lines = await report({ url: endpoint.baseUrl, model: 'm', key: 'sk-test-secret', long: 2_000 }, () => {});
  return { endpoint, lines: Object.fromEntries(lines.map(({ story, ok, said }) => [story, [ok, said]])) };
};

test('The report of a model that does all has a line for each story, and none that failed', async () => {
  const { endpoint, lines } = await reported(
    says('ready'),
    calls(['file_read', { path: 'a.txt' }]),
    says('The word is heron.'),
    streamed(chunk({ reasoning_content: '17 * 23' }), chunk({ content: 'No' }), chunk({}, 'stop')),
    says('1\n2\n3'),
    says('Red'),
    says('Kestrel'),
  );
  expect(lines).toEqual({
    reachable: [true, expect.stringMatching(/^2 models are listed, in \d+ ms$/)],
    model: [true, 'm says "ready"'],
    tools: [true, 'it called file_read {"path":"a.txt"}'],
    'second step': [true, expect.stringMatching(/^with(out)? state of the provider; it says "The word is heron\."$/)],
    wire: [true, 'chat'],
    thoughts: [null, '0 tokens, 7 characters are shown'],
    cancel: [true, expect.stringMatching(/^it stopped \d+ ms after the first part$/)],
    picture: [null, 'red is "Red"'],
    'long context': [true, expect.stringMatching(/^\d+ tokens were counted; the beginning was read$/)],
    price: [null, expect.stringMatching(/^\d+ \+ \d+ tokens, about \$/)],
  });
  expect(endpoint.requests()).toHaveLength(7);
});

test('The report of a model without tools says so, in the words of the endpoint where it has some', async () => {
  const { lines } = await reported(
    says('ready'),
    says('I cannot read files.'),
    says('No'),
    says('1\n2'),
    says('Red'),
    refusal(500, { error: { message: 'out of memory' } }),
  );
  expect(lines).toMatchObject({
    tools: [false, 'no call, but "I cannot read files."'],
    'second step': [false, 'not asked: the first step made no call'],
    thoughts: [null, 'none'],
    'long context': [false, expect.stringContaining('out of memory')],
  });
});
