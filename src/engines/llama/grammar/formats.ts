// Patterns of the string formats. Each matches a subset of its format: without 29 February, which depends on the year, with
// times in UTC, ASCII hosts and addresses, and limits for parts of any length.

const day28 = '0[1-9]|1[0-9]|2[0-8]';
const date =
  `[12][0-9]{3}-(?:(?:0[13578]|1[02])-(?:${day28}|29|3[01])|(?:0[469]|11)-(?:${day28}|29|30)` +
  `|(?:0[13578]|1[02])-30|02-(?:${day28}))`;
const time = '(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{3})?Z';

const label = '[a-z0-9](?:[a-z0-9-]{0,20}[a-z0-9])?';
const topLabel = '[a-z](?:[a-z0-9-]{0,20}[a-z0-9])?';
const host = `(?:${label}\\.){0,3}${topLabel}`;
const domain = `(?:${label}\\.){1,3}${topLabel}`;
const local = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,20}(?:\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,20}){0,2}";

const byte = '(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])';
const ipv4 = `${byte}(?:\\.${byte}){3}`;
const group = '[0-9a-f]{1,4}';

/** `::` replaces two groups or more. */
const ipv6 = [
  `(?:${group}:){7}${group}`,
  ...Array.from({ length: 7 }, (_, before) => {
    const head = before === 0 ? ':' : `${group}(?::${group}){${before - 1}}:`;
    const after = 6 - before;
    return after === 0 ? `${head}:` : `${head}(?::|(?::${group}){1,${after}})`;
  }),
].join('|');

const encoded = '%[0-9A-F]{2}';
const segment = `(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|${encoded})`;
const extra = `(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|${encoded})*`;
const path = `(?:/${segment}*)*`;
const tail = `(?:\\?${extra})?(?:#${extra})?`;
const uri = `[a-z][a-z0-9+.-]{0,15}:(?://${host}(?::[1-9][0-9]{0,3})?${path}|${segment}+${path})${tail}`;

const clock = '(?:[0-9]{1,4}H(?:[0-9]{1,4}M(?:[0-9]{1,4}S)?)?|[0-9]{1,4}M(?:[0-9]{1,4}S)?|[0-9]{1,4}S)';
const days = '[0-9]{1,4}D';
const calendar = `(?:${days}|[0-9]{1,4}M(?:${days})?|[0-9]{1,4}Y(?:[0-9]{1,4}M(?:${days})?)?)`;
const duration = `P(?:${calendar}(?:T${clock})?|T${clock}|[0-9]{1,4}W)`;

const pointer = '(?:/(?:[^~/]|~[01])*)*';
const hex = (length: number): string => `[0-9a-f]{${length}}`;

export const formatPatterns: Readonly<Record<string, string>> = {
  date,
  time,
  'date-time': `${date}T${time}`,
  duration,
  uuid: [8, 4, 4, 4, 12].map(hex).join('-'),
  ipv4,
  ipv6,
  hostname: host,
  email: `${local}@${domain}`,
  uri,
  'uri-reference': `(?:${uri}|${path}${tail})`,
  'json-pointer': pointer,
  'relative-json-pointer': `(?:0|[1-9][0-9]{0,5})(?:#|${pointer})`,
};
