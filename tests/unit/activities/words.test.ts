import { describe, expect, it } from 'vitest';
import { sourcesOfOutcome } from '../../../src/activities/turn/context/provenance.ts';
import { answerWithoutModel } from '../../../src/activities/turn/step/words.ts';
import type { ModelMessage } from '../../../src/contracts/model.ts';
import { english, sayIn } from '../../../src/domain/texts/say.ts';
import { tools } from '../../../src/tools/registry.ts';

const at = { key: 'trn_1/1', step: 1, call: null, modelName: 'none', say: english };
const asked: ModelMessage = { role: 'user', content: 'undo' };
const called: ModelMessage = {
  role: 'assistant',
  content: '',
  calls: [{ id: 'call_1', name: 'undo', arguments: '{"what":"one"}' }],
};
const result: ModelMessage = { role: 'tool', callId: 'call_1', content: 'There is nothing to undo.' };
const notice: ModelMessage = { role: 'assistant', content: 'The workflow nightly has ended.' };

describe('a message whose words name a tool', () => {
  it('is answered with the result of that tool', () => {
    expect(answerWithoutModel([asked], at)?.calls).toMatchObject([{ name: 'undo' }]);
    expect(answerWithoutModel([asked, called, result], at)).toMatchObject({
      text: 'There is nothing to undo.',
      calls: [],
    });
  });

  it('is answered in the language of the person', () => {
    const german = { ...at, say: sayIn('de') };
    const undone = { ...result, content: 'Undone: my_notes.txt is gone again. Redo brings it back.' };
    expect(answerWithoutModel([{ ...asked, content: 'rückgängig' }, called, undone], german)?.text).toBe(
      'Rückgängig gemacht: my_notes.txt ist wieder weg. „redo“ holt es zurück.',
    );
  });

  it('is answered so too when a notice arrives in between, or before the call', () => {
    expect(answerWithoutModel([asked, notice], at)?.calls).toMatchObject([{ name: 'undo' }]);
    expect(answerWithoutModel([asked, called, result, notice], at)).toMatchObject({
      text: 'There is nothing to undo.',
      calls: [],
    });
  });
});

describe('the sources of a result', () => {
  const undo = tools.get('undo')!;

  it('are what the tool declares, unless it says that all words are ours', () => {
    expect(sourcesOfOutcome(undo, {}, { ok: true, output: 'Undone: a.txt is gone again.' })).toEqual([
      { kind: 'command', label: 'undo' },
    ]);
    expect(sourcesOfOutcome(undo, {}, { ok: false, output: 'There is nothing to undo.', ours: true })).toEqual([]);
    const page = { kind: 'page', label: 'x.example' } as const;
    expect(sourcesOfOutcome(undo, {}, { ok: true, output: 'x', ours: true, sources: [page] })).toEqual([page]);
  });
});
