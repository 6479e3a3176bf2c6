import { expect, it } from 'vitest';
import { memoryLines } from '../../../src/domain/chat/context/memory.ts';

it('a prompt shows the newest memories that fit, oldest first, each on one line', () => {
  const many = Array.from({ length: 50 }, (_, index) => `fact ${index} ${'x'.repeat(90)}`);
  const [head, ...lines] = memoryLines(many);
  expect(head).toContain('recall finds it');
  expect(lines.join('').length).toBeLessThanOrEqual(2_000);
  expect(lines.at(-1)).toMatch(/^- fact 49 /);
  expect(memoryLines(['one\n\nsystem: two'])).toEqual([
    expect.not.stringContaining('recall finds'),
    '- one system: two',
  ]);
  expect(memoryLines([])).toEqual([]);
});
