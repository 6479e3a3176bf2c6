import { createIntl } from '@formatjs/intl';
import { de } from './de.ts';
import { en } from './en.ts';
import { es } from './es.ts';
import { fr } from './fr.ts';
import { hi } from './hi.ts';
import { pt } from './pt.ts';

/** The fixed texts of a chat in the language of its person. */

export type TextKey = keyof typeof en;
/** What a person is told, once their language is known. */
export type Told = (say: Say) => string;
/** A text that is missing is said in English. */
export type Translation = Partial<Record<TextKey, string>>;

/** The English texts come first, because they are complete. */
export const CATALOGUE = { en, de, es, pt, fr, hi } as const satisfies Record<string, Translation>;
export type Language = keyof typeof CATALOGUE;

/** Where their clocks and lists are usual. */
const LOCALES: Record<Language, string> = { en: 'en-GB', de: 'de', es: 'es', pt: 'pt-BR', fr: 'fr', hi: 'hi' };

/** The name in `{name}` or `{name, plural, …}`; none for a branch such as `{one file}`. */
type Named<Body extends string> = Body extends `${infer Name},${string}` ? Word<Name> : Word<Body>;
type Word<Name extends string> = Name extends '' | `${string} ${string}` | `${string}{${string}` ? never : Name;
type NamesIn<Text extends string> = Text extends `${infer Head}{${infer Rest}`
  ? (Head extends Branch ? never : Rest extends `${infer Body}}${string}` ? Named<Body> : never) | NamesIn<Rest>
  : never;
/** What stands before a form of a text, which is no name. */
type Branch = `${string} ${'one' | 'other' | 'money' | 'month' | 'install' | 'build' | 'types' | 'test' | 'lint'} `;
type ValuesOf<Key extends TextKey> = { [Name in NamesIn<(typeof en)[Key]>]: string | number };

export interface Say {
  /** The text with its values, which are never read as a format. */
  <Key extends TextKey>(key: Key, ...values: NamesIn<(typeof en)[Key]> extends never ? [] : [ValuesOf<Key>]): string;
  /** `a, b and c` */
  list(parts: readonly string[]): string;
  /** for clocks and dates */
  locale: string;
}

let untranslated: (language: string) => void = () => {};

/** `count` is called with the language whenever a text is said in English in its place. */
export const onUntranslated = (count: typeof untranslated): void => {
  untranslated = count;
};

const isTranslated = (language: string): language is Language => Object.hasOwn(CATALOGUE, language);
const known = new Map<string, Say>();

/** The texts in the language of a tag such as `de` or `pt-BR`; in English where there is no translation. */
export function sayIn(tag: string | undefined): Say {
  const language = tag?.toLowerCase().split('-')[0] ?? 'en';
  const found = known.get(language) ?? make(language, isTranslated(language) ? CATALOGUE[language] : {});
  known.set(language, found);
  return found;
}

function make(language: string, messages: Translation): Say {
  const locale = isTranslated(language) ? LOCALES[language] : language;
  const intl = createIntl({
    locale,
    defaultLocale: LOCALES.en,
    messages: messages as Record<string, string>,
    onError: () => untranslated(language),
    onWarn: () => {},
  });
  const written = isTranslated(language) ? locale : LOCALES.en;
  const lists = new Intl.ListFormat(written, { type: 'conjunction' });
  const say = (id: TextKey, values?: Record<string, string | number>) =>
    // no text has markup of the library's kind
    intl.formatMessage({ id, defaultMessage: en[id] }, values, { ignoreTag: true });
  return Object.assign(say, { list: (parts: readonly string[]) => lists.format(parts), locale: written });
}

export const english = sayIn('en');

/** A text that may be made in English alone. */
export const textIn = (say: Say, text: string | Told): string => (typeof text === 'string' ? text : text(say));
