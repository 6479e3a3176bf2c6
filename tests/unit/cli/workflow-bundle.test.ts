import { describe, expect, it } from 'vitest';
import { bundledFiles } from '../../../src/cli/roles/temporal/workflow-bundle.ts';

describe('the cached workflow bundle', () => {
  it('is made again when a file of an inner folder has changed', () => {
    expect(bundledFiles()).toEqual(
      expect.arrayContaining(['workflows/index.ts', 'contracts/ids.ts', 'domain/consent/policy.ts']),
    );
  });
});
