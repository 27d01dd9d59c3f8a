import type { ChatDelta } from '../../../wire/chat/chat.ts';
import { freeTextArguments } from '../../../wire/chat/free-text.ts';
import { type Fields, fieldsOf, isObject, parseOrUndefined, stringOr } from '../../../base/fields.ts';
import { signatureOf } from './chat-response.ts';
import { unusable } from '../connection/parse-body.ts';

type CallDelta = NonNullable<ChatDelta['tool_calls']>[number];

/** The part of a call in one entry of a delta. */
interface Piece {
  /** Empty without one. */
  id: string;
  name: string;
  json: string;
  isCustom: boolean;
  /** The server's index, which may be wrong. */
  position: number | undefined;
  extra: Pick<CallDelta, 'extra_content'>;
}

interface Call extends Omit<Piece, 'position'> {
  /** Index among the calls of the answer; null before its head is sent. */
  index: number | null;
}

/** JSON around free text that arrives in pieces. */
const freeText = { begin: freeTextArguments('').slice(0, -2), end: '"}' };

/**
 * Assembles the tool calls of one streamed choice. Servers number them unreliably: all alike, not at all, or inconsistently. A
 * known id decides, then a known position; a piece with neither belongs to the newest call. Names may arrive in pieces too, so
 * the head of a call is sent with its first arguments.
 */
export class CallPieces {
  #newCallId: () => string;
  #calls: Call[] = [];
  /** Newest call at each of the server's positions. */
  #positions = new Map<number, Call>();
  #sent = 0;

  constructor(newCallId: () => string) {
    this.#newCallId = newCallId;
  }

  get hasCalls(): boolean {
    return this.#calls.length > 0;
  }

  /** @param entries of one delta */
  add(entries: readonly unknown[]): CallDelta[] {
    const touched = new Set<Call>();
    return entries.flatMap((entry, at) => {
      const piece = readPiece(fieldsOf(entry), entries.length > 1 ? at : undefined);
      const known = this.#find(piece);
      if (!known && isEmpty(piece)) return [];
      const isMore = known !== undefined && !isAnother(known, piece, touched.has(known));
      const call = isMore ? known : { ...piece, index: null };
      if (!isMore) this.#calls.push(call);
      touched.add(call);
      const { position } = piece;
      if (position !== undefined && !(isMore && this.#positions.has(position)))
        this.#positions.set(position, call);
      if (isMore && call.index !== null) return [moreOf(call.index, call, piece)];
      if (isMore) extend(call, piece);
      return call.json === '' || call.name === '' ? [] : this.#headsUpTo(call);
    });
  }

  /** Held-back parts and missing ends of calls. @throws ApiError `invalid_upstream_response` for a call that got no name */
  end(isCut: boolean): CallDelta[] {
    if (this.#calls.some(({ name }) => name === '')) throw unusable('calls a tool without a name');
    const ends = isCut ? [] : this.#calls.flatMap(close);
    return [...ends, ...this.#headsUpTo(this.#calls.at(-1))];
  }

  #find({ id, name, position }: Piece): Call | undefined {
    const newest = this.#calls.at(-1);
    const byId = id === '' ? undefined : this.#calls.findLast((call) => call.id === id);
    const byPosition = position === undefined ? undefined : this.#positions.get(position);
    const isStray = position === undefined || (id === '' && (name === '' || newest?.name === ''));
    return byId ?? byPosition ?? (isStray ? newest : undefined);
  }

  /** Unsent heads of a call and of those before it. */
  #headsUpTo(last: Call | undefined): CallDelta[] {
    const calls = last ? this.#calls.slice(0, this.#calls.indexOf(last) + 1) : [];
    return calls.flatMap((call) => {
      if (call.index !== null || call.name === '') return [];
      const { id, name, json, isCustom, extra } = call;
      const isTaken = this.#calls.some((other) => other.id === id && other.index !== null);
      call.index = this.#sent++;
      const called = { name, arguments: (isCustom ? freeText.begin : '') + json };
      const sentId = id === '' || isTaken ? this.#newCallId() : id;
      return [{ index: call.index, id: sentId, type: 'function', function: called, ...extra }];
    });
  }
}

function readPiece(given: Fields, at: number | undefined): Piece {
  const custom = isObject(given['custom']) ? given['custom'] : null;
  const { name, arguments: json } = custom
    ? { name: custom['name'], arguments: escaped(custom['input']) }
    : fieldsOf(given['function']);
  return {
    id: stringOr(given['id'], ''),
    name: stringOr(name, ''),
    json: typeof json === 'string' ? json : json === undefined || json === null ? '' : JSON.stringify(json),
    isCustom: custom !== null,
    position: Number.isInteger(given['index']) ? (given['index'] as number) : at,
    extra: signatureOf(given),
  };
}

function isEmpty({ id, name, json }: Piece): boolean {
  return id === '' && name === '' && json === '';
}

/** Text escaped for the inside of a JSON string. */
function escaped(text: unknown): string {
  return JSON.stringify(stringOr(text, '')).slice(1, -1);
}

/** True if a piece begins another call than the one it matched. @param isSameDelta this delta holds that call's last piece */
function isAnother(call: Call, { id, name, json }: Piece, isSameDelta: boolean): boolean {
  if (id !== '' && call.id !== '' && id !== call.id)
    return !continues(call, { name, json }) && (name !== '' || json === '' || isWhole(call.json));
  if (name === '' || call.name === '') return false;
  if (call.json === '') return isSameDelta && id === '' && name !== call.name;
  return name !== call.name || ((id === '' || json !== '') && isWhole(call.json));
}

/** True for a continuation under a new id, which some servers send with every piece; a new call begins with a brace. */
function continues(call: Call, { name, json }: Pick<Piece, 'name' | 'json'>): boolean {
  return name === call.name && call.json !== '' && !isWhole(call.json) && /^\s*[^\s{]/.test(json);
}

function isWhole(json: string): boolean {
  return json.trimEnd().endsWith('}') && isObject(parseOrUndefined(json));
}

/** Adds a piece to a call. Some servers repeat the name in every piece. @returns the added part of the name */
function extend(call: Call, { id, name, json, isCustom, extra }: Piece): string {
  const added = name === call.name || (call.name !== '' && call.json !== '') ? '' : name;
  call.id ||= id;
  call.name += added;
  call.json += json;
  call.isCustom ||= isCustom;
  Object.assign(call.extra, extra);
  return added;
}

/** Completes the arguments: some servers send none for a tool without parameters, and clients expect JSON. */
function close(call: Call): CallDelta[] {
  const { index, json, isCustom } = call;
  const end = isCustom ? freeText.end : json === '' ? '{}' : '';
  call.json += end;
  return index === null || end === '' ? [] : [{ index, function: { arguments: end } }];
}

function moreOf(index: number, call: Call, piece: Piece): CallDelta {
  const name = extend(call, piece);
  return { index, function: { ...(name !== '' && { name }), arguments: piece.json }, ...piece.extra };
}
