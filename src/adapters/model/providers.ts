/** Where models are had whose endpoint speaks the OpenAI protocol, as setup offers them. Addresses: the providers' own documentation, 2026-11. */
export interface Provider {
  name: string;
  /** null for OpenAI and OpenRouter, whose keys have settings of their own */
  baseUrl: string | null;
  keySetting: 'OPENAI_API_KEY' | 'OPENROUTER_API_KEY';
  /** where a person gets a key */
  keys: string;
  /** suggested among what the endpoint lists: the first that fits */
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
