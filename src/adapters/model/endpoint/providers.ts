/**
 * Providers as setup offers them. Each has an endpoint that speaks the OpenAI protocol; the facts of models say which
 * are asked in their own. Addresses are from the providers' own documentation, 2026-11.
 */
export interface Provider {
  name: string;
  /** null for OpenAI and OpenRouter, whose keys have their own settings */
  baseUrl: string | null;
  keySetting: 'OPENAI_API_KEY' | 'OPENROUTER_API_KEY';
  /** where a person gets a key */
  keys: string;
  /** which listed model to suggest: the first match */
  preferred: readonly RegExp[];
}

export const PROVIDERS: readonly Provider[] = [
  {
    name: 'OpenAI',
    baseUrl: null,
    keySetting: 'OPENAI_API_KEY',
    keys: 'https://platform.openai.com/api-keys',
    preferred: [/^gpt-5-mini$/, /^gpt-5/, /^gpt-/],
  },
  {
    name: 'OpenRouter',
    baseUrl: null,
    keySetting: 'OPENROUTER_API_KEY',
    keys: 'https://openrouter.ai/keys',
    preferred: [/^openai\/gpt-5-mini$/, /^anthropic\/claude-sonnet/, /^openai\/gpt/],
  },
  {
    name: 'Anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    keySetting: 'OPENAI_API_KEY',
    keys: 'https://console.anthropic.com/settings/keys',
    preferred: [/^claude-sonnet/, /^claude-/],
  },
  {
    name: 'Google Gemini',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    keySetting: 'OPENAI_API_KEY',
    keys: 'https://aistudio.google.com/apikey',
    preferred: [/gemini-[\d.]+-flash$/, /gemini/],
  },
];

/** The settings that choose a provider with a key. */
export const providerSettings = ({ baseUrl, keySetting }: Provider, key: string): Record<string, string> => ({
  ...(baseUrl && { OPENAI_BASE_URL: baseUrl }),
  [keySetting]: key,
});
