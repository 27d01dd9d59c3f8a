import { toBinaryString, isAscii, fromBinaryString } from '../../base/byte-text.ts';
import { isObject } from '../../base/fields.ts';
import { type BatchEndpoint, batchEndpoints, defaultEndpoints } from '../../core/batch.ts';
import { ApiError, type ErrorCode, type Fault } from '../../core/errors.ts';
import type { Serves } from '../../core/model.ts';
import { imageUrlPaths, imageUrlsOff } from '../chat/request/image-urls.ts';
import { type FileContent, fileParts } from '../file/file-parts.ts';
import { describe, joinPath } from '../schema/explain.ts';
import { type JsonProblem, readJson } from '../json/parse.ts';
import { decodeUtf8 } from '../shared/utf8.ts';
import { collectFaults } from '../schema/validate.ts';
import { isBareBody, isOtherFormat, lineMembers } from './bare-body.ts';
import { lineFormats, type LinePrompt } from './line-formats.ts';

/** What a line told when it obeys the rules. */
export interface CheckedLine {
  ok: true;
  customId: string;
  url: BatchEndpoint;
  /** As the line spells it. */
  model: string;
  /** Estimated tokens: bytes / 4, and what the answer is taken to have. */
  est: number;
  /** What is asked, where there is a prompt. */
  prompt: LinePrompt | null;
  /** What a string of the prompt says: its characters may be bytes. */
  textOf: (characters: string) => string;
}

export type LineVerdict = CheckedLine | { ok: false; faults: Fault[] };

export interface LineCheckerOptions {
  /** The endpoint of the batch, when it is known; else the first line with a good one sets it. */
  endpoint?: BatchEndpoint;
  /** Those that are open here; the usual ones if absent. */
  endpoints?: readonly BatchEndpoint[];
  /** Why a line may not use this model, or undefined when it may, which is not asked again. */
  refuseModel: (name: string, serves: Serves) => ApiError | undefined;
  /** True for models that accept images at an address; all do if absent. */
  takesImageUrls?: (model: string) => boolean;
  /** Whether a body may name files, whose content is put there when it is run. */
  takesFiles?: boolean;
  /** How faults name a place: by line number, or as `requests[3].body.model`. */
  source?: 'file' | 'inline';
}

export type LineChecker = ReturnType<typeof createLineChecker>;

export const customIdLimit = 512;

/**
 * The rules of one batch line (api.md, section 4; specification, section 2.2), shared by upload, inline creation and
 * the offline `files validate`. Checks the lines of one file, in order; one may be checked again before the next. Remembers
 * the custom_ids and the endpoint.
 */
export function createLineChecker(options: LineCheckerOptions) {
  let { endpoint } = options;
  let namesFiles = false;
  let namesImageUrls = false;
  const { endpoints = defaultEndpoints } = options;
  const inline = options.source === 'inline';
  const customIds = new Map<string, number>();
  /** The fault of each other format, and the number of the first line that has it. */
  const firstForeign = new Map<Fault, number>();
  /** Those that are not refused. */
  const models: Record<Serves, Set<string>> = {
    chat: new Set(),
    embeddings: new Set(),
    completions: new Set(),
  };

  const refusal = (name: string, url: BatchEndpoint): ApiError | undefined => {
    const kind = lineFormats[url].serves;
    if (models[kind].has(name)) return undefined;
    const refused = options.refuseModel(name, kind);
    if (!refused) models[kind].add(name);
    return refused;
  };

  /** Puts the place in front of every fault. */
  const placed = (faults: Fault[], number: number, customId: string | undefined): Fault[] =>
    faults.map(({ param, code, message }) => {
      const known = customId === undefined ? {} : { custom_id: customId };
      if (!inline) return { line: number, ...known, ...(param !== undefined && { param }), code, message };
      const item = `requests[${number - 1}]`;
      return { ...known, param: param === undefined ? item : `${item}.${param}`, code, message };
    });

  const checkCustomId = (value: unknown, number: number): Fault | undefined => {
    const message = customIdFault(value);
    if (message) return { param: 'custom_id', code: 'validation_error', message };
    const first = customIds.get(value as string);
    if (first === undefined || first === number) {
      customIds.set(value as string, number);
      return undefined;
    }
    const places = inline
      ? `requests[${first - 1}] and requests[${number - 1}] have`
      : `lines ${first} and ${number} have`;
    return { param: 'custom_id', code: 'duplicate_custom_id', message: `${places} the same custom_id` };
  };

  const checkUrl = (value: unknown): Fault | undefined => {
    const known = endpoints.find((name) => name === value);
    if (known === undefined) {
      const message = endpointFault(value, endpoints);
      return { param: 'url', code: typeof value === 'string' ? 'url_mismatch' : 'validation_error', message };
    }
    endpoint ??= known;
    if (known === endpoint) return undefined;
    const whose = options.endpoint ? 'the batch has' : 'the lines before it have';
    return { param: 'url', code: 'url_mismatch', message: `${whose} "${endpoint}", got "${known}"` };
  };

  const judge = (text: string, textOf: CheckedLine['textOf']): LineReading => {
    const reading = readJson(text);
    if (reading.problem) return { faults: [jsonFault(reading.problem)] };
    const { value: line } = reading;
    if (!isObject(line))
      return {
        faults: [{ code: 'invalid_json_line', message: `expected a JSON object, got ${describe(line)}` }],
      };
    if (isOtherFormat(line)) return { faults: [], foreign: isBareBody(line) ? bareBodyFault : foreignFault };
    const { custom_id: id, url, body } = line;
    if (options.takesFiles === true)
      for (const { fileId, put } of fileParts(body)) {
        namesFiles = true;
        put(standIn(fileId));
      }
    const faults = shapeFaults(line);
    const target = endpoints.find((name) => name === url) ?? endpoint;
    const read = target && isObject(body) ? readBody(body, target) : undefined;
    if (read) faults.push(...read.faults);
    const model = isObject(body) && typeof body['model'] === 'string' ? textOf(body['model']) : '';
    const refused = target && model !== '' ? refusal(model, target) : undefined;
    if (refused) faults.push({ param: 'body.model', code: refused.code, message: refused.message });
    if (read?.prompt) faults.push(...imageUrlFaults(read.prompt, model));
    const told = (value: unknown) => (typeof value === 'string' ? textOf(value) : value);
    const prompt = read?.prompt ?? null;
    return { faults, line: { customId: told(id), url: told(url), model, prompt, textOf } };
  };

  const imageUrlFaults = ({ chat, mapFault }: LinePrompt, model: string): Fault[] => {
    const places = [...imageUrlPaths(chat.messages)];
    if (places.length > 0) namesImageUrls = true;
    if (places.length === 0 || (options.takesImageUrls?.(model) ?? true)) return [];
    return places.map((param) =>
      inBody(mapFault({ param, code: 'validation_error', message: imageUrlsOff })),
    );
  };

  /**
   * @param bytes UTF-8
   * @param number 1-based; of the line in the file, or of the request in the list
   */
  const check = (bytes: Uint8Array, number: number): LineVerdict => {
    // Halves what reading costs where a line is not ASCII.
    const characters = toBinaryString(bytes);
    const isText = isAscii(bytes);
    const isQuick = isText || !characters.includes('\\u');
    let judged = isQuick ? judge(characters, isText ? asItIs : fromBinaryString) : undefined;
    // What is wrong is told of the text itself.
    if (!judged || (judged.faults.length > 0 && !isText)) judged = judge(decodeUtf8(bytes) as string, asItIs);
    const { line, foreign } = judged;
    if (foreign) {
      // One fault stands for all such lines: the file holds nothing else.
      const first = firstForeign.get(foreign) ?? number;
      firstForeign.set(foreign, first);
      return { ok: false, faults: first === number ? placed([foreign], number, undefined) : [] };
    }
    if (!line) return { ok: false, faults: placed(judged.faults, number, undefined) };
    const { customId, url } = line;
    const found = [checkCustomId(customId, number), checkUrl(url), ...judged.faults];
    const faults = found.filter((fault) => fault !== undefined);
    if (faults.length > 0) {
      const known = customIdFault(customId) ? undefined : (customId as string);
      return { ok: false, faults: placed(faults, number, known) };
    }
    const { model, prompt, textOf } = line;
    const est = Math.ceil(bytes.length / 4) + (prompt?.output ?? 0);
    return {
      ok: true,
      customId: customId as string,
      url: url as BatchEndpoint,
      model,
      est,
      prompt,
      textOf,
    };
  };

  return {
    get endpoint() {
      return endpoint;
    },
    /** Whether a body named a file. */
    get namesFiles() {
      return namesFiles;
    },
    /** True if a body refers to an image by an address. */
    get namesImageUrls() {
      return namesImageUrls;
    },
    check,
  };
}

/** What a line is by itself, whatever stands before it. */
interface LineReading {
  faults: Fault[];
  /** The fault of an object in another format. */
  foreign?: Fault;
  /** Absent where it is no JSON object. */
  line?: Pick<CheckedLine, 'model' | 'prompt' | 'textOf'> & { customId: unknown; url: unknown };
}

const asItIs = (text: string): string => text;

export const loneSurrogate = 'holds half of a surrogate pair, which no UTF-8 text can carry';

/** Why a value is no custom_id, or undefined (reliability.md, B13, B15, B27). */
export function customIdFault(value: unknown): string | undefined {
  if (typeof value !== 'string') return notExpected('a string', value);
  if (value === '') return 'must not be empty';
  if (value.length > customIdLimit)
    return `expected at most ${customIdLimit} characters, got ${value.length}`;
  if (!value.isWellFormed()) return loneSurrogate;
  if (controlCharacter.test(value)) return 'must not hold control characters';
  return undefined;
}

// oxlint-disable-next-line no-control-regex -- they are what is looked for
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/;

function notExpected(what: string, value: unknown): string {
  return value === undefined ? 'required, but missing' : `expected ${what}, got ${describe(value)}`;
}

/** Of the right shape for every place, and another one for each file. */
function standIn(fileId: string): FileContent {
  return { filename: fileId, mediaType: 'image/png', base64: fileId, text: fileId };
}

const bareBodyFault: Fault = {
  code: 'invalid_json_line',
  message:
    'this line and those like it are request bodies, not batch lines: put each into {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {...}}, as offpeak batch run --wrap does',
};

const foreignFault: Fault = {
  code: 'invalid_json_line',
  message:
    'this line and those like it are not batch lines: a line is {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {...}}',
};

const problemCodes: Record<JsonProblem['code'], ErrorCode> = {
  invalid_json: 'invalid_json_line',
  too_deep: 'too_deep',
  too_many_nodes: 'line_too_long',
  duplicate_key: 'duplicate_key',
};

function jsonFault({ code, message, at }: JsonProblem): Fault {
  const reason = code === 'invalid_json' ? `not valid JSON: ${message}` : message;
  return { code: problemCodes[code], message: `${reason} (column ${at + 1})` };
}

/** Faults of the line around its body; custom_id and url have rules of their own. */
function shapeFaults(line: Record<string, unknown>): Fault[] {
  const { method, body } = line;
  return collectFaults((add) => {
    if (method !== 'POST') add('method', notExpected('"POST"', method));
    if (!isObject(body)) add('body', notExpected('an object', body));
    for (const key of Object.keys(line))
      if (!lineMembers.includes(key))
        add(joinPath('', key), 'unknown field; a line has custom_id, method, url and body');
  });
}

function readBody(body: Record<string, unknown>, url: BatchEndpoint) {
  const format = lineFormats[url];
  const faults = format.check(body).map(inBody);
  if (body['stream'] === true)
    faults.push({
      param: 'body.stream',
      code: 'validation_error',
      message: 'a batch line cannot be streamed; leave stream out',
    });
  if (faults.length > 0) return { faults, prompt: null };
  try {
    return { faults, prompt: format.prompt(body) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { param, code, message } = error;
    const found = error.faults.length > 0 ? error.faults : [{ param: param ?? undefined, code, message }];
    return { faults: found.map(inBody), prompt: null };
  }
}

function inBody(fault: Fault): Fault {
  const { param } = fault;
  return {
    ...fault,
    param: param === undefined ? 'body' : `body${param.startsWith('[') ? '' : '.'}${param}`,
  };
}

/** Why a value is no endpoint of a batch here. */
export function endpointFault(value: unknown, endpoints: readonly BatchEndpoint[]): string {
  const known = endpoints.map((name) => `"${name}"`);
  const message = `expected ${known.join(' or ')}, got ${describe(value)}`;
  if (batchEndpoints.some((name) => name === value))
    return `${message}, which batch.endpoints of the server's configuration would open`;
  const operation = otherSpelling.exec(String(value))?.[1];
  const meant = endpoints.find((name) => name === `/v1/${operation}`);
  return meant === undefined ? message : `${message}; write "${meant}"`;
}

/** An endpoint as clients of other services write it: without a version, with a slash at its end, or as a whole URL. */
const otherSpelling = /^(?:https?:\/\/[^/]+)?\/?(?:openai\/)?(?:v1\/)?([a-z/]+?)\/?$/;
