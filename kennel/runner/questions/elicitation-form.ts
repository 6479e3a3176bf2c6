import type { CreateElicitationRequest, CreateElicitationResponse } from '@agentclientprotocol/sdk';
import type { Sanitiser } from '../log/sanitiser.ts';
import type { PendingQuestions } from './pending-questions.ts';

/**
 * Forms from an agent's own question tool (`elicitation/create`; Claude and Codex send them). Each field becomes a
 * question to the person, and the answer becomes a value of the field.
 */

interface Field {
  name: string;
  question: string;
  /** what the person chooses from: the title is shown, the value is sent */
  options: Array<{ title: string; value: string }>;
  type: string;
  /** a free-text field beside this choice, for an answer that is not among its options */
  other: string | null;
}

type Value = string | number | boolean | string[];

const MAX_FIELDS = 12;
/** how often a question is repeated when its answer is not among the options */
const TRIES = 3;

export async function fillForm(
  request: CreateElicitationRequest,
  pending: PendingQuestions,
  sanitiser: Sanitiser,
): Promise<CreateElicitationResponse> {
  if (request.mode !== 'form') return { action: 'decline' };
  const content: Record<string, Value> = {};
  for (const field of fieldsOf(
    String(request.message ?? ''),
    (request as { requestedSchema?: unknown }).requestedSchema,
  )) {
    const given = await answer(field, pending, sanitiser);
    if (!given) return { action: 'cancel' };
    Object.assign(content, given);
  }
  return { action: 'accept', content };
}

async function answer(
  field: Field,
  pending: PendingQuestions,
  sanitiser: Sanitiser,
): Promise<Record<string, Value> | null> {
  const options = field.options.map((one) => sanitiser.line(one.title, 200));
  let question = field.question;
  for (let tries = 0; tries < TRIES; tries++) {
    const reply = await pending.ask({ question: sanitiser.detail(question, 4000), options });
    if (reply.what !== 'answer') return null;
    const values = valuesOf(field, reply.text);
    if (values) return values;
    question = `"${reply.text.slice(0, 200)}" is not one of the possible answers.\n${field.question}`;
  }
  return null;
}

/** The values that an answer gives the form; null when it fits no field. */
export function valuesOf(field: Field, answer: string): Record<string, Value> | null {
  const value = oneValue(field, answer);
  if (value !== null) return { [field.name]: value };
  if (!field.other) return null;
  const none = field.options.find((one) => /^(other|none of the above|something else)\b/i.test(one.title));
  return { ...(none && { [field.name]: none.value }), [field.other]: answer.trim() };
}

export function fieldsOf(message: string, schema: unknown): Field[] {
  const properties = Object.entries(
    ((schema ?? {}) as { properties?: Record<string, Record<string, unknown>> }).properties ?? {},
  ).slice(0, MAX_FIELDS);
  const fields: Field[] = [];
  for (const [name, property] of properties) {
    const last = fields.at(-1);
    const options = optionsOf(property);
    if (last && last.options.length > 0 && !last.other && options.length === 0 && isOther(name, property, last.name)) {
      last.other = name;
      continue;
    }
    const words = [property.title, property.description].filter(
      (part): part is string => typeof part === 'string' && part !== '',
    );
    fields.push({
      name,
      question: words.join(': '),
      options,
      type: typeof property.type === 'string' ? property.type : 'string',
      other: null,
    });
  }
  for (const field of fields) {
    // in a form with one question, the message is the question and the title its heading
    const parts = fields.length === 1 ? [message || field.question] : [message, field.question || field.name];
    field.question = parts.filter(Boolean).join('\n');
  }
  return fields;
}

function isOther(name: string, property: Record<string, unknown>, choice: string): boolean {
  return (
    property.type === 'string' &&
    (name.startsWith(choice) || /\b(other|note|own answer)\b/i.test(`${property.title ?? ''}`))
  );
}

function optionsOf(property: Record<string, unknown>): Field['options'] {
  const items = (property.items ?? {}) as Record<string, unknown>;
  const choices = property.oneOf ?? property.anyOf ?? items.oneOf ?? items.anyOf;
  if (Array.isArray(choices)) {
    return choices
      .filter((one): one is { const: string; title?: string } => typeof one?.const === 'string')
      .map((one) => ({ title: typeof one.title === 'string' ? one.title : one.const, value: one.const }));
  }
  const values = property.enum ?? items.enum;
  if (Array.isArray(values))
    return values.filter((one): one is string => typeof one === 'string').map((value) => ({ title: value, value }));
  return property.type === 'boolean' ? ['yes', 'no'].map((value) => ({ title: value, value })) : [];
}

function oneValue(field: Field, answer: string): Value | null {
  const text = answer.trim();
  if (field.type === 'boolean') return /^(y|yes|true|ok|1)\b/i.test(text);
  if (field.type === 'number' || field.type === 'integer')
    return text && Number.isFinite(Number(text)) ? Number(text) : null;
  if (field.type === 'array') {
    const parts = text.split(/[,;\n]/).map((part) => chosen(field, part));
    return parts.every((part) => part !== null) ? parts : null;
  }
  return field.options.length > 0 ? chosen(field, text) : text;
}

function chosen(field: Field, text: string): string | null {
  const wanted = text.trim().toLowerCase();
  const option = field.options.find((one) => one.title.toLowerCase() === wanted || one.value.toLowerCase() === wanted);
  // "2" is the second option, unless an option has that name
  return option?.value ?? (/^\d+$/.test(wanted) ? field.options[Number(wanted) - 1]?.value : undefined) ?? null;
}
