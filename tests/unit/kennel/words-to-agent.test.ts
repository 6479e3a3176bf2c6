import { describe, expect, it } from 'vitest';
import { WordsToAgent } from '../../../kennel/runner/agent/words.ts';
import { commandOf } from '../../../kennel/runner/log/commands.ts';

describe('what a person says while an agent works', () => {
  it('is one prompt in the order in which it came, and each word of it only once', () => {
    const words = new WordsToAgent(['before']);
    expect(words.take()).toBeNull();
    words.add('before', 'in the first prompt');
    words.add('one', 'use npm');
    words.add('two', 'and no yarn');
    words.add('one', 'use npm');
    expect(words.take()).toEqual({ ids: ['one', 'two'], text: 'use npm\n\nand no yarn' });
    words.add('two', 'and no yarn');
    expect(words.take()).toBeNull();
  });

  it('comes as a command with an id and a text, or not at all', () => {
    const tell = { id: 'c', step: 2, type: 'tell', wordsId: 'one', text: 'use npm' };
    expect(commandOf(tell)).toEqual(tell);
    expect(commandOf({ ...tell, text: 1 })).toBeNull();
  });
});
