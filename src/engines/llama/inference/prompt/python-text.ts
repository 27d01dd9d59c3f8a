/** Value of the template engine. */
export interface TemplateValue {
  /** Such as `BooleanValue`. */
  type: string;
  value: unknown;
}

/** Python's `str`; undefined values are empty, as in templates. */
export function pythonText(given: TemplateValue): string {
  if (given.type === 'StringValue') return String(given.value);
  return given.type === 'UndefinedValue' ? '' : representation(given);
}

/** Python's `len`. @throws Error for a value without one */
export function pythonLength({ type, value }: TemplateValue): number {
  if (type === 'UndefinedValue') return 0;
  if (typeof value === 'string') return Array.from(value).length;
  if (Array.isArray(value)) return value.length;
  if (value instanceof Map) return value.size;
  throw new Error(`a value of type ${type} has no length`);
}

/** Items of an iteration over a value, as texts. */
export function pythonTexts({ value }: TemplateValue): string[] {
  if (typeof value === 'string') return Array.from(value);
  if (Array.isArray(value)) return (value as TemplateValue[]).map(pythonText);
  return value instanceof Map ? [...(value as Map<string, unknown>).keys()] : [];
}

/** Python's `repr`. */
function representation({ type, value }: TemplateValue): string {
  if (type === 'NullValue') return 'None';
  if (type === 'UndefinedValue') return 'Undefined';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'number') return type === 'FloatValue' ? floatText(value) : integerText(value);
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) {
    const items = (value as TemplateValue[]).map(representation);
    if (type !== 'TupleValue') return `[${items.join(', ')}]`;
    return items.length === 1 ? `(${items[0]},)` : `(${items.join(', ')})`;
  }
  if (!(value instanceof Map)) return String(value);
  const entries = [...(value as Map<string, TemplateValue>)];
  return `{${entries.map(([key, each]) => `${quoted(key)}: ${representation(each)}`).join(', ')}}`;
}

function integerText(value: number): string {
  return Number.isSafeInteger(value) ? String(value) : BigInt(value).toString();
}

/** Digits as in JavaScript, with an exponent below 1e-4 and from 1e16. */
function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (Object.is(value, -0)) return '-0.0';
  const [digits = '', exponent = ''] = value.toExponential().split('e');
  const power = Number(exponent);
  if (value !== 0 && (power < -4 || power >= 16))
    return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll(/[\\\p{Cc}]/gu, (letter) => {
    return escapes[letter] ?? `\\x${letter.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
  return quote + (quote === "'" ? escaped.replaceAll("'", String.raw`\'`) : escaped) + quote;
}
