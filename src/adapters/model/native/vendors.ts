import type { createAnthropic } from '@ai-sdk/anthropic';
import type { WireName } from '../../../contracts/model.ts';

/** The SDK's view of one model. Both vendors have the same. */
export type SdkModel = ReturnType<ReturnType<typeof createAnthropic>>;
export type SdkCall = Parameters<SdkModel['doStream']>[0];

interface VendorAddress {
  baseUrl: string;
  apiKey: string;
  fetch: typeof globalThis.fetch;
}

/**
 * Differences between the vendors that are asked natively. The packages are strict, so they are for the vendors' own
 * hosts: others deviate from the protocol.
 */
export interface Vendor {
  wire: Extract<WireName, 'anthropic' | 'gemini'>;
  /** the SDK's name for the vendor, under which it keeps signatures and takes options */
  key: 'anthropic' | 'google';
  /** loads the vendor's package, which most installations never need */
  open(address: VendorAddress, model: string): Promise<SdkModel>;
  /** limit of tokens in an answer when a request names none; unset: the vendor's own */
  mostTokens?: number;
  /** options of every request; `omit`: what the model refuses */
  options(model: string, omit: readonly string[]): NonNullable<SdkCall['providerOptions']>[string];
  /** names the places up to which a prompt is cached */
  marksCache: boolean;
  /** an event that says how the answer ends */
  isEnd(event: unknown): boolean;
  /** the event behind it without which the SDK sees no end; unset: none */
  lastEvent?: string;
}

/** Source: https://docs.anthropic.com/en/api/messages */
export const ANTHROPIC: Vendor = {
  wire: 'anthropic',
  key: 'anthropic',
  open: async ({ baseUrl, apiKey, fetch }, model) => {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    return createAnthropic({ baseURL: baseUrl, apiKey, fetch })(model);
  },
  // the SDK would ask for up to 128,000, and adds the budget for thoughts; it lowers the sum to what the model has
  mostTokens: 32_000,
  // eager streaming of arguments may send half of them
  options: () => ({ toolStreaming: false }),
  marksCache: true,
  isEnd: (event) => {
    const { type, delta } = event as { type?: unknown; delta?: { stop_reason?: unknown } };
    return type === 'message_delta' && typeof delta?.stop_reason === 'string';
  },
  lastEvent: 'event: message_stop\ndata: {"type":"message_stop"}\n\n',
};

/** Source: https://ai.google.dev/api/generate-content */
export const GEMINI: Vendor = {
  wire: 'gemini',
  key: 'google',
  open: async ({ baseUrl, apiKey, fetch }, model) => {
    const { createGoogle } = await import('@ai-sdk/google');
    // the base URL may be that of the chat completions of this host, and its list of models puts a folder before each
    // name
    return createGoogle({ baseURL: baseUrl.replace(/\/openai$/, ''), apiKey, fetch })(model.replace(/^models\//, ''));
  },
  options: (model, omit) =>
    omit.includes('thinkingConfig') || /gemini-(1|2\.0)|gemma/i.test(model)
      ? {}
      : { thinkingConfig: { includeThoughts: true } },
  marksCache: false,
  isEnd: (event) =>
    (event as { candidates?: Array<{ finishReason?: unknown }> }).candidates?.[0]?.finishReason !== undefined,
};
