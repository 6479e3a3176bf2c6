import { z } from 'zod';
import type { Tool } from './tool.ts';

/** A tool as the model is told of it. Every request carries all of them, so each byte counts. */
export interface ModelTool {
  name: string;
  description: string;
  /** JSON Schema of the arguments */
  parameters: Record<string, unknown>;
}

/** A part of a JSON Schema, as the conversion hands it out to be changed. */
type Part = z.core.JSONSchema.BaseSchema & { toldInPrompt?: true; untold?: true };

/** Marks a description that the system prompt gives once for all tools. People read it in docs/tools.md. */
export const toldInPrompt = (description: string): { description: string; toldInPrompt: true } => ({
  description,
  toldInPrompt: true,
});

/**
 * Marks an argument, or one of its forms, that a model needs not know. A call may have it all the same, and people read
 * it in docs/tools.md.
 */
export const untold = (description: string): { description: string; untold: true } => ({ description, untold: true });

/** The longest text that models take for a name, and the longest text and largest number that they may come near. */
const NAME_LENGTH = 255;
const LONG_TEXT = 10_000;
const LARGE_NUMBER = 10_000;
const MANY_ITEMS = 100;

const isEmpty = (value: unknown): boolean =>
  value === false || value === '' || (typeof value === 'object' && Object.keys(value ?? {}).length === 0);

/**
 * Removes what a model does not need to write a good call. The zod schema still checks all of it, and its error tells
 * the limit. The name, the type, the required ones, and `additionalProperties: false` stay.
 */
function withoutNoise(part: Part): void {
  const { maxLength = 0, maxItems = 0, maximum = 0 } = part;
  delete part.minLength;
  delete part.minItems;
  delete part.pattern;
  delete part.propertyNames;
  if (maxLength <= NAME_LENGTH || maxLength > LONG_TEXT) delete part.maxLength;
  if (maxItems > MANY_ITEMS) delete part.maxItems;
  // the least limits are a number of things, or a second in ms
  if ([0, 1, 1000, Number.MIN_SAFE_INTEGER].includes(part.minimum ?? 2)) delete part.minimum;
  if (maximum >= LARGE_NUMBER) delete part.maximum;
  // of choices, the usual one comes first
  if (part.default !== undefined && (isEmpty(part.default) || part.default === part.enum?.[0])) delete part.default;
  if (typeof part.additionalProperties === 'object' && isEmpty(part.additionalProperties))
    delete part.additionalProperties;
  for (const [name, each] of Object.entries(part.properties ?? {}))
    if ((each as Part).untold) delete part.properties![name];
  const forms = part.anyOf?.filter((each) => !(each as Part).untold);
  if (forms?.length === 1) {
    delete part.anyOf;
    Object.assign(part, forms[0]);
  }
  if (part.toldInPrompt) delete part.description;
  delete part.toldInPrompt;
}

/** The declaration of a tool in a model request. */
export function declarationOf({ name, description, schema }: Tool): ModelTool {
  // `input`: the schema of what the model writes, so that an argument with a default is optional
  const { $schema: _, ...parameters } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => withoutNoise(jsonSchema),
  });
  return { name, description, parameters };
}
