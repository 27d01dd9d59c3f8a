export type AttributeValue = string | number | boolean | readonly string[] | undefined;

/** Kinds of spans, with the numbers of OTLP. */
export const spanKinds = { internal: 1, server: 2, client: 3 } as const;

/** Finished span. Ids are in hex, instants are epoch milliseconds. */
export interface Span {
  traceId: string;
  spanId: string;
  parentId?: string | undefined;
  name: string;
  kind: keyof typeof spanKinds;
  startedAt: number;
  endedAt: number;
  /** Attributes; undefined ones are absent. */
  attributes: Record<string, AttributeValue>;
  isError: boolean;
  link?: { traceId: string; spanId: string };
}

/** Attributes of all spans of this process. */
export type Resource = Record<string, AttributeValue>;

const errorStatus = 2;
const w3cSampled = 1;

/** The JSON form of OTLP (opentelemetry-proto, ExportTraceServiceRequest): ids in hex, 64-bit integers as texts. */
export function toOtlp(spans: readonly Span[], resource: Resource, version: string): object {
  return {
    resourceSpans: [
      {
        resource: { attributes: toAttributes(resource) },
        scopeSpans: [{ scope: { name: 'offpeak', version }, spans: spans.map(toOtlpSpan) }],
      },
    ],
  };
}

function toOtlpSpan(span: Span): object {
  const { traceId, spanId, parentId, name, kind, startedAt, endedAt, attributes, isError, link } = span;
  return {
    traceId,
    spanId,
    ...(parentId !== undefined && { parentSpanId: parentId }),
    flags: w3cSampled,
    name,
    kind: spanKinds[kind],
    startTimeUnixNano: toNanos(startedAt),
    endTimeUnixNano: toNanos(Math.max(startedAt, endedAt)),
    attributes: toAttributes(attributes),
    ...(link && { links: [link] }),
    status: isError ? { code: errorStatus } : {},
  };
}

/** Nanoseconds of an instant, exact to the microsecond. */
function toNanos(ms: number): string {
  return String(BigInt(Math.round(ms * 1_000)) * 1_000n);
}

function toAttributes(attributes: Record<string, AttributeValue>): object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: toValue(value) }],
  );
}

function toValue(value: Exclude<AttributeValue, undefined>): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number')
    return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return { arrayValue: { values: value.map((item) => ({ stringValue: item })) } };
}
