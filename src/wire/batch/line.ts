import { toBinaryString, isAscii, fromBinaryString } from '../../base/byte-text.ts';
import { isObject } from '../../base/fields.ts';
import { type BatchEndpoint, defaultEndpoints, endpointOf } from '../../core/batch.ts';
import { ApiError, type Fault } from '../../core/errors.ts';
import type { Serves } from '../../core/model.ts';
import { imageUrlPaths, imageUrlsOff } from '../chat/request/image-urls.ts';
import { fileParts } from '../file/file-parts.ts';
import { describe } from '../schema/explain.ts';
import { readJson } from '../json/parse.ts';
import { decodeUtf8 } from '../shared/utf8.ts';
import {
  FieldWarnings,
  findUnknownFields,
  type UnknownField,
  unknownFieldFault,
} from '../schema/unknown-fields.ts';
import { isBareBody, isOtherFormat } from './bare-body.ts';
import {
  bareBodyFault,
  customIdFault,
  endpointFault,
  inBody,
  jsonFault,
  otherFormatFault,
  shapeFaults,
} from './line-faults.ts';
import { lineFormats, type LinePrompt } from './line-formats.ts';

/** A valid line. */
export interface CheckedLine {
  ok: true;
  customId: string;
  url: BatchEndpoint;
  /** As spelled in the line. */
  model: string;
  /** Estimated tokens: bytes / 4, plus the answer. */
  est: number;
  /** Null for direct requests, such as embeddings. */
  prompt: LinePrompt | null;
  /** Decodes a string of the prompt, whose characters may be bytes. */
  textOf: (characters: string) => string;
}

export type LineVerdict = CheckedLine | { ok: false; faults: Fault[] };

export interface LineCheckerOptions {
  /** Endpoint of the batch; if absent, the first valid line sets it. */
  endpoint?: BatchEndpoint;
  /** Enabled endpoints; `defaultEndpoints` if absent. */
  endpoints?: readonly BatchEndpoint[];
  /** True if an endpoint may be written without `/v1`. */
  anyPrefix?: boolean;
  /** Returns the reason why a line may not use the model. Permission is remembered. */
  refuseModel: (name: string, serves: Serves) => ApiError | undefined;
  /** True for models that accept image URLs; absent if all do. */
  takesImageUrls?: (model: string) => boolean;
  /** True if bodies may refer to files, which are inlined when the line runs. */
  takesFiles?: boolean;
  /** Top-level fields that the engine of a model takes besides the known ones. */
  extraFields?: (model: string) => readonly string[];
  /** True if unknown fields of bodies are faults instead of warnings. */
  isStrict?: boolean;
  /** `inline` faults have paths like `requests[3].body.model` instead of line numbers. */
  source?: 'file' | 'inline';
}

export type LineChecker = ReturnType<typeof createLineChecker>;

/**
 * Checks the lines of one batch in order, for uploads, inline requests and the offline `files validate`. Remembers custom_ids
 * and the endpoint. A line may be checked again before the next one.
 */
export function createLineChecker(options: LineCheckerOptions) {
  let { endpoint } = options;
  let hasFiles = false;
  let hasImageUrls = false;
  const { endpoints = defaultEndpoints } = options;
  const inline = options.source === 'inline';
  /** Open endpoint that a line names. */
  const openEndpoint = (url: unknown): BatchEndpoint | undefined => {
    const named = options.anyPrefix === true ? endpointOf(url) : url;
    return endpoints.find((name) => name === named);
  };
  const customIds = new Map<string, number>();
  const warnings = new FieldWarnings();
  /** Number of the first line with each fault of another format. */
  const firstOfFormat = new Map<Fault, number>();
  const allowed = new Set<string>();

  const refusal = (name: string, url: BatchEndpoint): ApiError | undefined => {
    const { serves } = lineFormats[url];
    const key = `${serves} ${name}`;
    if (allowed.has(key)) return undefined;
    const refused = options.refuseModel(name, serves);
    if (!refused) allowed.add(key);
    return refused;
  };

  /** Adds the line number or path to faults. */
  const located = (faults: Fault[], number: number, customId: string | undefined): Fault[] =>
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
    const both = inline
      ? `requests[${first - 1}] and requests[${number - 1}]`
      : `lines ${first} and ${number}`;
    return { param: 'custom_id', code: 'duplicate_custom_id', message: `${both} have the same custom_id` };
  };

  const checkUrl = (value: unknown): Fault | undefined => {
    const known = openEndpoint(value);
    if (known === undefined) {
      const message = endpointFault(value, endpoints);
      return { param: 'url', code: typeof value === 'string' ? 'url_mismatch' : 'validation_error', message };
    }
    endpoint ??= known;
    if (known === endpoint) return undefined;
    const whose = options.endpoint ? 'the endpoint of the batch' : 'as on the lines before';
    const message = `expected "${endpoint}", ${whose}, got "${known}"`;
    return { param: 'url', code: 'url_mismatch', message };
  };

  const read = (text: string, textOf: CheckedLine['textOf']): LineReading => {
    const reading = readJson(text);
    if (reading.problem) return { faults: [jsonFault(reading.problem)] };
    const { value: line } = reading;
    if (!isObject(line))
      return {
        faults: [{ code: 'invalid_json_line', message: `expected a JSON object, got ${describe(line)}` }],
      };
    if (isOtherFormat(line))
      return { faults: [], formatFault: isBareBody(line) ? bareBodyFault : otherFormatFault };
    const { custom_id: id, url, body } = line;
    if (options.takesFiles === true)
      for (const { fileId, put } of fileParts(body)) {
        hasFiles = true;
        // Valid for any part, and different for each file.
        put({ filename: fileId, mediaType: 'image/png', base64: fileId, text: fileId });
      }
    const faults = shapeFaults(line);
    const target = openEndpoint(url) ?? endpoint;
    const checked = target && isObject(body) ? checkBody(body, target) : undefined;
    if (checked) faults.push(...checked.faults);
    const model = isObject(body) && typeof body['model'] === 'string' ? textOf(body['model']) : '';
    const refused = target && model !== '' ? refusal(model, target) : undefined;
    if (refused) faults.push({ param: 'body.model', code: refused.code, message: refused.message });
    const prompt = checked?.prompt ?? null;
    if (prompt) faults.push(...imageUrlFaults(imageUrlPaths(prompt.chat.messages), model, prompt.mapFault));
    else if (target && checked?.faults.length === 0) {
      const paths = lineFormats[target].imageUrlPaths?.(body as Record<string, unknown>) ?? [];
      faults.push(...imageUrlFaults(paths, model));
    }
    const unknown = target && isObject(body) ? unknownFields(body, target, model, textOf) : [];
    if (options.isStrict === true) faults.push(...unknown.map((field) => inBody(unknownFieldFault(field))));
    const decoded = (value: unknown) => (typeof value === 'string' ? textOf(value) : value);
    return { faults, line: { customId: decoded(id), url: decoded(url), model, prompt, textOf, unknown } };
  };

  const unknownFields = (body: object, url: BatchEndpoint, model: string, textOf: CheckedLine['textOf']) =>
    findUnknownFields(body, lineFormats[url].check.known(), {
      extra: () => options.extraFields?.(model) ?? [],
      textOf,
    });

  const imageUrlFaults = (
    pathsOfUrls: Iterable<string>,
    model: string,
    mapFault: LinePrompt['mapFault'] = (fault) => fault,
  ): Fault[] => {
    const paths = [...pathsOfUrls];
    if (paths.length > 0) hasImageUrls = true;
    if (paths.length === 0 || (options.takesImageUrls?.(model) ?? true)) return [];
    return paths.map((param) => inBody(mapFault({ param, code: 'validation_error', message: imageUrlsOff })));
  };

  /** @param bytes UTF-8 @param number 1-based number of the line in the file, or of the request in the list */
  const check = (bytes: Uint8Array, number: number): LineVerdict => {
    // Parsing bytes as characters halves the cost for lines that are not ASCII.
    const characters = toBinaryString(bytes);
    const isText = isAscii(bytes);
    const isQuick = isText || !characters.includes('\\u');
    let reading = isQuick ? read(characters, isText ? asItIs : fromBinaryString) : undefined;
    // Faults are found in the decoded text.
    if (!reading || (reading.faults.length > 0 && !isText))
      reading = read(decodeUtf8(bytes) as string, asItIs);
    const { line, formatFault } = reading;
    if (formatFault) {
      // Reported once: all lines of such a file have it.
      const first = firstOfFormat.get(formatFault) ?? number;
      firstOfFormat.set(formatFault, first);
      return { ok: false, faults: first === number ? located([formatFault], number, undefined) : [] };
    }
    if (!line) return { ok: false, faults: located(reading.faults, number, undefined) };
    const customId = line.customId as string;
    const found = [checkCustomId(customId, number), checkUrl(line.url), ...reading.faults];
    const faults = found.filter((fault) => fault !== undefined);
    if (faults.length > 0)
      return { ok: false, faults: located(faults, number, customIdFault(customId) ? undefined : customId) };
    const { unknown, ...rest } = line;
    warnings.add(unknown, number);
    const est = Math.ceil(bytes.length / 4) + (line.prompt?.output ?? 0);
    return { ok: true, ...rest, customId, url: endpoint!, est };
  };

  return {
    get endpoint() {
      return endpoint;
    },
    /** True if a body refers to a file. */
    get namesFiles() {
      return hasFiles;
    },
    /** True if a body has an image URL. */
    get namesImageUrls() {
      return hasImageUrls;
    },
    /** Unknown fields of the valid lines. */
    get warnings() {
      return warnings.all;
    },
    check,
  };
}

/** Result of reading a line, independent of other lines. */
interface LineReading {
  faults: Fault[];
  /** Fault of an object in another format. */
  formatFault?: Fault;
  /** Absent if the line is not a JSON object. */
  line?: Pick<CheckedLine, 'model' | 'prompt' | 'textOf'> & {
    customId: unknown;
    url: unknown;
    unknown: readonly UnknownField[];
  };
}

const asItIs = (text: string): string => text;

function checkBody(body: Record<string, unknown>, url: BatchEndpoint) {
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
