import type { Language } from './say.ts';

/**
 * The language of a message, from words that hardly occur in the others. tinyld and franc take one in three short
 * requests in English for another language, and eld needs 30 MB of heap in each process (59 requests were tried).
 */

/** One of these is enough: greetings, thanks, and words of no other of these languages. */
const CLEAR: Record<Language, string> = {
  en: 'hello thanks please what which the where how remind tell',
  de: 'hallo guten moin servus danke bitte nicht ich kannst zeig zeige mach mache schreib erinnere welche welcher welches wieviel',
  es: 'hola buenas buenos gracias qué cuál dónde cómo haz hazme recuérdame muéstrame puedes quiero necesito ayúdame',
  pt: 'oi olá bom pode obrigado obrigada você vocês não faça faz lembre quero preciso consegue pra também quais',
  fr: 'bonjour salut été montre coucou merci peux fais quelle quel quels quelles rappelle s’il stp veux c’est qu’est j’ai',
  hi: '',
};

/** Two of these are needed. Those of two languages count for both. */
const USUAL: Record<Language, string> = {
  en: 'a an and as no or by be so we you new is are was of to in on for with my me it its this that these there can could do does you i not if from make show run fix add write read list delete remove every when why who but have has at',
  de: 'der die das den dem des ein eine einen einem einer und ist sind war im in an auf für mit mein meine meinen mir mich es dies diese dieses dass kann können du wir wenn von aus zu zum zur was wer wie wo warum alle jeden jede lösch lösche lies füge noch mal schon wieder gerade heute morgen',
  es: 'el la los las un una unos unas a o todo y tu es son del de en con por para mi mis me lo que este esta esto estos si cuando quién no se al más hay crea arregla borra escribe lee añade ejecuta cada hoy mañana está favor',
  pt: 'a o os as um uma uns umas posso no é são do da dos das de em na com por para meu minha isso este esta isto se quando quem que mais há tem cria crie arruma conserta apaga escreve escreva leia adiciona roda rode cada todo hoje amanhã está favor',
  fr: 'le la les un une des y en son par et est sont du de dans sur avec pour mon ma mes me ce cette ces ça que qui si quand où comment pourquoi ne pas il elle tu nous crée corrige supprime écris lis ajoute lance chaque aujourd’hui demain aux au',
  hi: '',
};

/** Letters of one language alone, as one usual word. */
const LETTERS: ReadonlyArray<readonly [Language, RegExp]> = [
  ['de', /[äöüß]/],
  ['es', /[ñ¿¡]/],
  ['pt', /[ãõ]/],
  ['fr', /[èœùû]|\b[ljdsnqcm]’/],
];

const byWord = new Map<string, Array<readonly [Language, number]>>();
const ENOUGH = 2;
for (const [words, points] of [[CLEAR, ENOUGH] as const, [USUAL, 1] as const])
  for (const [language, list] of Object.entries(words))
    for (const word of list.split(' '))
      if (word) byWord.set(word, [...(byWord.get(word) ?? []), [language as Language, points]]);

/** Quotes and code are words of others. */
const QUOTED = /```[\s\S]*|`[^`]*`|["“„«][^"“”„«»]*["”“»]/g;
/** So are addresses, paths and calls. */
const FOREIGN = /[/\\@_=<>{}]|\(\)|\.\w/;
/** A longer message is mostly something pasted. */
const READ = 600;

/** The language in which somebody wrote, where that is clear; null for `npm test` and for other languages. */
export function languageIn(text: string): Language | null {
  const said = text.slice(0, READ).normalize('NFC').toLowerCase().replace(/'/g, '’').replace(QUOTED, ' ');
  const words = said.split(/\s/).filter((word) => !FOREIGN.test(word));
  if (/\p{Script=Devanagari}{2}/u.test(said)) return 'hi';
  const points = new Map<Language, number>();
  const count = (language: Language, more: number) => points.set(language, (points.get(language) ?? 0) + more);
  for (const word of new Set(words.join(' ').match(/[\p{L}’]+/gu)))
    for (const [language, more] of byWord.get(word) ?? []) count(language, more);
  for (const [language, letters] of LETTERS) if (letters.test(said)) count(language, 1);
  const [first, second] = [...points].sort(([, one], [, other]) => other - one);
  return first && first[1] >= ENOUGH && first[1] > (second?.[1] ?? 0) ? first[0] : null;
}

/** The language of our texts in a chat: the one that was asked for, or the one that its person writes. */
export const languageOf = ({ language, writes }: { language?: string; writes?: string }): string =>
  language ?? writes ?? 'en';
