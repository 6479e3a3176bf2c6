import type { ModelCall } from '../model.ts';
import { JsonProgress } from '../written/json-progress.ts';
import { offeredName } from '../written/offered-name.ts';

/**
 * A part of a call, or the whole of it: Chat Completions' form, an old `function_call`, or the flat form of other
 * protocols.
 */
export interface WireCall {
  index?: unknown;
  id?: unknown;
  type?: unknown;
  function?: { name?: unknown; arguments?: unknown; parameters?: unknown } | string | null;
  /** OpenAI's tools of free text */
  custom?: { name?: unknown; input?: unknown } | null;
  name?: unknown;
  arguments?: unknown;
  input?: unknown;
  [field: string]: unknown;
}

/** Fields that belong to the protocol. All others are the provider's own. */
const KNOWN = new Set(['index', 'id', 'type', 'function', 'custom', 'name', 'arguments', 'input']);
const KNOWN_INSIDE = new Set(['name', 'arguments', 'parameters']);

interface OpenCall {
  index: string | undefined;
  id: string;
  name: string;
  arguments: string;
  progress: JsonProgress;
  own: Record<string, unknown> | null;
}

interface Part {
  index: string | undefined;
  id: string;
  name: string;
  arguments: string;
  /** the arguments came as an object, so they are whole */
  isWhole: boolean;
}

/** Puts calls together from parts whose numbers, ids and names cannot be trusted. */
export class CallParts {
  private readonly open: OpenCall[] = [];
  private readonly offered: ReadonlySet<string>;

  constructor(offered: ReadonlySet<string>) {
    this.offered = offered;
  }

  /**
   * The calls of one message, or the parts of them that a chunk has.
   *
   * @param soFar the message may repeat what came before it
   */
  add(wires: readonly WireCall[], soFar = false): void {
    const before = [...this.open];
    for (const wire of wires) this.addOne(wire, soFar, before);
  }

  private addOne(wire: WireCall, soFar: boolean, before: readonly OpenCall[]): void {
    const part = readPart(wire);
    let call = this.callOf(part, soFar);
    // a whole message behind its pieces may have ids of its own
    if (
      !call &&
      soFar &&
      before.some(({ name, arguments: args }) => name === part.name && sameJson(args, part.arguments))
    )
      return;
    if (!call) {
      call = { index: part.index, id: '', name: '', arguments: '', progress: new JsonProgress(), own: null };
      this.open.push(call);
    }
    call.id ||= part.id;
    call.name = joinedName(call.name, part.name);
    for (const [field, value] of ownFields(wire)) {
      call.own ??= {};
      call.own[field] = joined(call.own[field], value);
    }
    const more = newArguments(call, part, soFar);
    if (more === '') return;
    call.arguments += more;
    call.progress.add(more);
  }

  get isEmpty(): boolean {
    return this.open.length === 0;
  }

  /** A call whose arguments stop in the middle. */
  get hasHalf(): boolean {
    return this.open.some(({ progress }) => progress.state === 'half');
  }

  /**
   * A call without a name can neither run nor be sent back. Ids must exist and differ, or the next request is refused.
   * A call that came twice, with the same id or none, is one. `own` has the provider's own fields of each call.
   */
  result(): { calls: ModelCall[]; own: Array<Record<string, unknown> | null> } {
    const used = new Set<string>();
    const seen = new Set<string>();
    const calls: ModelCall[] = [];
    const own: Array<Record<string, unknown> | null> = [];
    for (const call of this.open) {
      const name = offeredName(call.name, this.offered);
      const args = withoutPlaceholder(call.arguments);
      const same = JSON.stringify([call.id, name, args]);
      if (name === '' || seen.has(same)) continue;
      seen.add(same);
      let id = call.id || `call_${calls.length + 1}`;
      while (used.has(id)) id = `${id}_${calls.length + 1}`;
      used.add(id);
      calls.push({ id, name, arguments: args.trim() === '' ? '{}' : args });
      own.push(call.own);
    }
    return { calls, own };
  }

  /**
   * The call that a part belongs to; undefined when it begins a new one. Neither its number nor its id can be relied on
   * alone.
   */
  private callOf(part: Part, soFar: boolean): OpenCall | undefined {
    const last = this.open.at(-1);
    const numbered = part.index === undefined ? undefined : this.open.findLast(({ index }) => index === part.index);
    const identified = part.id === '' ? undefined : this.open.findLast(({ id }) => id === part.id);
    const agreed = numbered && (part.id === '' || numbered.id === '' || numbered.id === part.id) ? numbered : undefined;
    if (part.name === '') {
      // a new id without a name comes from a provider that makes up an id for every chunk, a new number from one that
      // counts chunks
      const known = agreed ?? identified ?? numbered;
      if (known || part.index === undefined || !last) return known ?? last;
      return part.arguments !== '' && (last.progress.state === 'half' || last.progress.state === 'empty')
        ? last
        : undefined;
    }
    const known =
      agreed ??
      (identified && (part.index === undefined || numbered || isUnfinished(identified, part)) ? identified : undefined);
    if (known) return this.goesOn(known, part, soFar) ? known : undefined;
    const near = numbered ?? (part.index === undefined || part.id === '' ? last : undefined);
    return near && (isUnfinished(near, part) || this.isRest(near, part)) ? near : undefined;
  }

  /** Whether the known name was only the beginning, or came alone. */
  private isRest(known: OpenCall, part: Part): boolean {
    if (known.arguments !== '') return false;
    if (known.name === part.name) return known.id === '' && part.id === '';
    return !this.offered.has(known.name) && this.offered.has(known.name + part.name);
  }

  /**
   * Whether a part with a name, and with the number or id of a known call, still belongs to it. Some providers number
   * every call 0.
   */
  private goesOn(known: OpenCall, part: Part, soFar: boolean): boolean {
    if (soFar || known.name === '') return true;
    if (known.name !== part.name && this.offered.has(known.name) && this.offered.has(part.name)) return false;
    if (known.progress.state !== 'whole' || part.arguments === '') return true;
    // the same call once more
    if (part.arguments === known.arguments && (part.id !== '' || part.isWhole)) return true;
    return known.id === '' && part.id === '' ? !beginsObject(part) : !isObject(part);
  }
}

/** A name that is repeated in every chunk continues the call while its arguments are not whole. */
const isUnfinished = (known: OpenCall, part: Part): boolean =>
  known.progress.state === 'half' &&
  known.name === part.name &&
  part.arguments !== '' &&
  !(part.id !== known.id ? beginsObject(part) : isObject(part));

const beginsObject = (part: Part): boolean => part.arguments.trimStart().startsWith('{');

function isObject(part: Part): boolean {
  if (!beginsObject(part)) return false;
  const progress = new JsonProgress();
  progress.add(part.arguments);
  return progress.state === 'whole';
}

/** What the provider has added to a call, also beside its name. */
function ownFields(wire: WireCall): Array<[string, unknown]> {
  const inside = Object.entries(insideOf(wire)).filter(([field]) => !KNOWN_INSIDE.has(field));
  const own = Object.entries(wire).filter(([field]) => !KNOWN.has(field));
  const said = ([, value]: [string, unknown]): boolean => value !== null && value !== undefined && value !== '';
  const kept = inside.filter(said);
  return [...own.filter(said), ...(kept.length > 0 ? [[INSIDE, Object.fromEntries(kept)] as [string, unknown]] : [])];
}

/** The provider's fields of a call that stood beside its name, as they are kept. */
export const INSIDE = 'function_fields';

const insideOf = ({ function: inside }: WireCall): Record<string, unknown> =>
  typeof inside === 'object' && inside !== null ? inside : {};

function sameJson(one: string, other: string): boolean {
  if (one === other) return true;
  try {
    return JSON.stringify(JSON.parse(one)) === JSON.stringify(JSON.parse(other));
  } catch {
    return false;
  }
}

function readPart(wire: WireCall): Part {
  const inside = insideOf(wire);
  const args = inside.arguments ?? inside.parameters ?? wire.arguments ?? wire.input ?? wire.custom?.input;
  const isWhole = typeof args === 'object' && args !== null;
  return {
    index:
      typeof wire.index === 'number' || (typeof wire.index === 'string' && wire.index !== '')
        ? String(wire.index)
        : undefined,
    id: typeof wire.id === 'string' ? wire.id : typeof wire.id === 'number' ? String(wire.id) : '',
    name: nameOf([inside.name, wire.name, wire.function, wire.custom?.name]),
    // a number is no arguments, which the model is told
    arguments: isWhole ? JSON.stringify(args) : String(args ?? ''),
    isWhole,
  };
}

const nameOf = (given: readonly unknown[]): string => given.find((name) => typeof name === 'string') ?? '';

/** The name may be repeated in every chunk, or be split over several. */
function joinedName(known: string, name: string): string {
  if (name === '' || known.endsWith(name)) return known;
  return name.startsWith(known) ? name : known + name;
}

/** What a part adds to the arguments of its call. */
function newArguments(call: OpenCall, part: Part, soFar: boolean): string {
  if (
    part.arguments === call.arguments &&
    (part.isWhole || (call.progress.state === 'whole' && part.id !== '' && part.name !== ''))
  )
    return '';
  // the beginning of an object cannot stand inside of it
  const repeats = call.progress.state === 'half' && part.arguments.trimStart().startsWith('{');
  if ((soFar || repeats) && part.arguments.startsWith(call.arguments))
    return part.arguments.slice(call.arguments.length);
  return part.arguments;
}

/** Some servers write `{}` before the arguments have begun. */
const withoutPlaceholder = (args: string): string =>
  /^\s*\{\s*\}\s*\{/.test(args) ? args.replace(/^\s*\{\s*\}\s*/, '') : args;

/** Pieces of a provider's own field: texts are joined, objects are merged. */
export function joined(known: unknown, value: unknown): unknown {
  if (known === undefined || known === null) return value;
  if (typeof known === 'string' && typeof value === 'string') return known === value ? known : known + value;
  if (Array.isArray(known) && Array.isArray(value)) return [...known, ...value];
  if (isRecord(known) && isRecord(value)) {
    const all = { ...known };
    for (const [field, each] of Object.entries(value)) all[field] = joined(all[field], each);
    return all;
  }
  return value;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
