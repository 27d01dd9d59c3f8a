import { isIPv4, isIPv6 } from 'node:net';

/**
 * String formats that answers are checked for: those that the embedded engine can write (docs/structured-output.md), each to the
 * full extent of its standard. Checks take linear time. Other formats are ignored.
 */
export const formats: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  time: isTime,
  'date-time': (text) => /^.{10}[Tt ]/.test(text) && isDate(text.slice(0, 10)) && isTime(text.slice(11)),
  duration: (text) =>
    /^P(?!$)(?:(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?|\d+W)$/.test(text),
  uuid: (text) => /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i.test(text),
  ipv4: isIPv4,
  ipv6: (text) => !text.includes('%') && isIPv6(text),
  hostname: isHost,
  email: isEmail,
  uri: isUri,
  'uri-reference': (text) => isUri(text) || (uriText.test(text) && !/^[^/?#]*:/.test(text)),
  'json-pointer': (text) => pointer.test(text),
  'relative-json-pointer': (text) => {
    const [number] = /^(?:0|[1-9]\d*)/.exec(text) ?? [];
    if (number === undefined) return false;
    const rest = text.slice(number.length);
    return rest === '#' || pointer.test(rest);
  },
};

function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
  const days = [31, isLeap(Number(year)) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][
    Number(month) - 1
  ];
  return days !== undefined && Number(day) >= 1 && Number(day) <= days;
}

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

/** Accepts leap seconds. */
function isTime(text: string): boolean {
  const hour = '(?:[01]\\d|2[0-3])';
  return new RegExp(`^${hour}:[0-5]\\d:(?:[0-5]\\d|60)(?:\\.\\d+)?(?:[Zz]|[+-]${hour}:[0-5]\\d)$`).test(text);
}

function isHost(text: string): boolean {
  if (text.length > 253) return false;
  return text.split('.').every((label) => /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/i.test(label));
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@');
  const local = text.slice(0, Math.max(0, at));
  const isPlain = local.split('.').every((atom) => /^[\w!#$%&'*+/=?^`{|}~-]+$/.test(atom));
  return (isPlain || /^"(?:[^"\\]|\\.)*"$/.test(local)) && isHost(text.slice(at + 1));
}

function isUri(text: string): boolean {
  return /^[a-z][a-z\d+.-]*:/i.test(text) && uriText.test(text);
}

/** Characters of a URI. */
const uriText = /^(?:[\w.~:/?#[\]@!$&'()*+,;=-]|%[\da-f]{2})*$/i;

const pointer = /^(?:\/(?:[^~/]|~[01])*)*$/;
