import { describe, expect, it } from 'vitest';
import {
  folderFor,
  type GroupRule,
  mayCall,
  parseGroupOrder,
  whenInWords,
  whoInWords,
} from '../../../src/domain/chat/groups.ts';
import { addressed } from '../../../src/domain/chat/trigger.ts';
import { toolsInWords } from '../../../src/domain/chat/words/tool-words.ts';
import { nameProblem } from '../../../src/domain/tasks/workspace-names.ts';
import { sayIn } from '../../../src/domain/texts/say.ts';

describe('a registered group', () => {
  const says = (text: string, rule: GroupRule | null, more = {}) =>
    addressed({
      chat: 'group',
      number: 'dedicated',
      mentionsUs: false,
      quotesUs: false,
      text,
      voice: false,
      trigger: '@fetch',
      rule,
      ...more,
    });

  it('is called by its own word and by the usual one', () => {
    const rule = { trigger: 'Жучка' };
    expect(says('жучка, wie spät?', rule)).toEqual({ addressed: true, text: 'wie spät?' });
    expect(says('@fetch hello', rule).addressed).toBe(true);
    expect(says('жучками', rule).addressed).toBe(false);
    expect(says('жучка', null).addressed).toBe(false);
  });

  it('takes a mention, a reply or every message, as its rule says', () => {
    expect(says('@fetch hello', { when: 'mentioned' }).addressed).toBe(false);
    expect(says('hello', { when: 'mentioned' }, { mentionsUs: true }).addressed).toBe(true);
    expect(says('hello', { when: 'mentioned' }, { quotesUs: true }).addressed).toBe(true);
    expect(says('hello', { when: 'always' })).toEqual({ addressed: true, text: 'hello' });
    expect(says('hello', { when: 'called' }).addressed).toBe(false);
  });

  it('is called by whom its rule names, and always by the owner', () => {
    const stranger = { role: 'stranger', id: '491' } as const;
    const trusted = { role: 'trusted', id: '492' } as const;
    const owner = { role: 'owner', id: null } as const;
    const may = (rule: GroupRule) => [owner, trusted, stranger].map((each) => mayCall(rule, each));
    expect(may({})).toEqual([true, true, false]);
    expect(may({ who: 'everyone' })).toEqual([true, true, true]);
    expect(may({ who: ['491'] })).toEqual([true, false, true]);
    // nobody whose number is unknown is on a list
    expect(mayCall({ who: ['491'] }, { role: 'stranger', id: null })).toBe(false);
  });

  it('says its rule in words', () => {
    expect(whenInWords({}, '@fetch')).toBe('who writes @fetch, mentions me or replies to me');
    expect(whenInWords({ when: 'always' }, '@fetch')).toBe('every message');
    expect(whoInWords({})).toBe('you and the people whom you trust');
    expect(whoInWords({ who: ['491'] }, ['Ann'])).toBe('you, Ann');
    const german = sayIn('de');
    expect(whenInWords({ trigger: 'Jarvis' }, '@fetch', german)).toBe(
      'wer @fetch oder Jarvis schreibt, mich erwähnt oder mir antwortet',
    );
    expect(whoInWords({ who: ['491'] }, ['Ann'], german)).toBe('dir, Ann');
  });

  it('gets a folder of its own, whatever its name', () => {
    for (const name of ['Família & Friends', '👪', '../../etc', 'errors', 'a', 'x'.repeat(100)])
      expect(nameProblem(folderFor(name, new Set())), name).toBeNull();
    expect(folderFor('Family', new Set())).toBe('family');
    expect(folderFor('Family', new Set(['family', 'family-2']))).toBe('family-3');
  });
});

describe('the words of the owner', () => {
  it.each([
    ['answer in Family', { group: 'Family', answer: 'called' }],
    ['Answer in “The Smiths”.', { group: 'The Smiths', answer: 'called' }],
    ['answer everything in Our Home for everyone', { group: 'Our Home', answer: 'always', callers: 'everyone' }],
    ['/answer mentions in Work for trusted people', { group: 'Work', answer: 'mentioned', callers: 'trusted' }],
    ['stop answering in Family', { group: 'Family', answer: 'off' }],
    ['don’t answer in Family', { group: 'Family', answer: 'off' }],
  ])('%s', (text, order) => expect(parseGroupOrder(text)).toEqual(order));

  it('are a call only with a slash, which a command adds where there is such a group', () => {
    expect(toolsInWords('answer in German')).toEqual([]);
    expect(toolsInWords('/answer in Family')).toEqual([
      { name: 'register_group', arguments: { group: 'Family', answer: 'called' } },
    ]);
  });
});
