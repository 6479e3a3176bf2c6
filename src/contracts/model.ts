/** One message of a model request, independent of any provider's wire format. */
export type ModelMessage =
  /** `pictures`: JPEG, base64 */
  | { role: 'system' | 'user'; content: string; pictures?: string[] }
  | { role: 'assistant'; content: string; calls?: Array<{ id: string; name: string; arguments: string }> }
  | { role: 'tool'; callId: string; content: string };
