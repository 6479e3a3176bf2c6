import { describe, expect, it } from 'vitest';
import { buildWorkflowBundle, bundledFiles } from '../../../src/cli/roles/temporal/workflow-bundle.ts';

describe('the cached workflow bundle', () => {
  it('is made again when a file of an inner folder has changed', () => {
    expect(bundledFiles()).toEqual(
      expect.arrayContaining(['workflows/index.ts', 'contracts/ids.ts', 'domain/consent/policy.ts']),
    );
  });

  it('takes one byte of memory for a character, and has the lines of its sources without their text', async () => {
    const { code } = await buildWorkflowBundle();
    expect([...new Set(code.match(/[^\0-\xff]/g))]).toEqual([]);
    const map = JSON.parse(Buffer.from(code.split('base64,').at(-1)!, 'base64').toString());
    expect(map.sources.join('\n')).toContain('src/workflows/conversation/conversation.ts');
    expect(map.mappings).toMatch(/\w/);
    expect(map.sourcesContent).toBeUndefined();
  }, 60_000);
});
