import { describe, expect, it } from 'vitest';
import { fillInputs, inputsOf, missingInputs } from '../../../src/domain/routine-inputs.ts';

describe('inputs of a routine', () => {
  it('are found in every text, however deep, with the first default that is given', () => {
    const args = { a: 'x {{input.one}} y', b: [{ c: '{{input.two=2}} {{input.one=1}}' }], d: 5 };
    expect([...inputsOf(args)]).toEqual([
      ['one', '1'],
      ['two', '2'],
    ]);
  });

  it('leave other braces as they are', () => {
    const args = { content: '<b>{{ user }}</b> {{input}} {{input.Bad}} $ {{ x }}' };
    expect(inputsOf(args).size).toBe(0);
    expect(fillInputs(args, { user: 'x' })).toEqual(args);
  });

  it('keep their type where a text is nothing else, and are text within a text', () => {
    expect(fillInputs({ a: '{{input.n}}', b: 'n={{input.n}}', c: '{{input.m=7}}' }, { n: 3 })).toEqual({
      a: 3,
      b: 'n=3',
      c: '7',
    });
  });

  it('are never read again for places of their own', () => {
    expect(fillInputs({ a: '-{{input.n}}-' }, { n: '{{input.m}}', m: 'x' })).toEqual({ a: '-{{input.m}}-' });
  });

  it('are missing when nobody gives them and they have no default', () => {
    const steps = [{ args: { a: '{{input.n}}', b: '{{input.m=1}}' } }];
    expect(missingInputs(steps, {})).toEqual(['n']);
    expect(missingInputs(steps, { n: '' })).toEqual([]);
    expect(missingInputs([{ args: { a: '{{input.constructor}}' } }], {})).toEqual(['constructor']);
  });
});
