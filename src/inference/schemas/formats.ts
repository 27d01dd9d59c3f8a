import { isIPv4, isIPv6 } from 'node:net';

/**
 * String formats that answers are checked for: those that the embedded engine can write (docs/structured-output.md), each to the
 * full extent of its standard, except that the Unicode behind `xn--` in a host name may be any. Checks take linear time. Other
 * formats are ignored.
 */
export const formats: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  time: isTime,
  'date-time': (text) => /^.{10}[Tt ]/.test(text) && isDate(text.slice(0, 10)) && isTime(text.slice(11)),
  duration: (text) =>
    /^P(?!$)(?:(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?|\d+W)$/.test(text),
  uuid: (text) => /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i.test(text),
  ipv4: isIPv4,
  ipv6: isIPv6Address,
  hostname: isHost,
  email: isEmail,
  uri: (text) => /^[a-z][a-z\d+.-]*:/i.test(text) && isUriReference(text),
  'uri-reference': isUriReference,
  'json-pointer': (text) => pointer.test(text),
  'relative-json-pointer': (text) => {
    const [number] = /^(?:0|[1-9]\d*)/.exec(text) ?? [];
    if (number === undefined) return false;
    const rest = text.slice(number.length);
    return rest === '#' || pointer.test(rest);
  },
};

/** Without a zone. */
function isIPv6Address(text: string): boolean {
  return isIPv6(text) && !text.includes('%');
}

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

/** Accepts a leap second at the end of a day in UTC. */
function isTime(text: string): boolean {
  const [, hour, minute, second, zone, sign, hours, minutes] =
    /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?([Zz]|([+-])(\d\d):(\d\d))$/.exec(text) ?? [];
  if (zone === undefined || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return false;
  if (Number(hours ?? 0) > 23 || Number(minutes ?? 0) > 59) return false;
  const offset = Number(`${sign ?? ''}1`) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0));
  const minuteOfDay = Number(hour) * 60 + Number(minute) - offset;
  return Number(second) < 60 || (minuteOfDay + 1) % 1_440 === 0;
}

function isHost(text: string): boolean {
  if (text.length > 253) return false;
  return text.split('.').every((label) => /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/i.test(label));
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@');
  const local = text.slice(0, Math.max(0, at));
  const isPlain = local.split('.').every((atom) => /^[\w!#$%&'*+/=?^`{|}~-]+$/.test(atom));
  const domain = text.slice(at + 1);
  const address = /^\[(IPv6:)?(.*)\]$/.exec(domain);
  const isDomain = address ? (address[1] ? isIPv6Address : isIPv4)(address[2]!) : isHost(domain);
  return (isPlain || /^"(?:[^"\\]|\\.)*"$/.test(local)) && isDomain;
}

/** RFC 3986, split as in its appendix B. */
function isUriReference(text: string): boolean {
  const [, scheme, authority = '', path = '', query = '', fragment = ''] =
    /^(?:([^:/?#]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(text) ?? [];
  return (
    (scheme === undefined || /^[a-z][a-z\d+.-]*$/i.test(scheme)) &&
    isAuthority(authority) &&
    /^(?:[\w.~:/@!$&'()*+,;=-]|%[\da-f]{2})*$/i.test(path) &&
    [query, fragment].every((part) => /^(?:[\w.~:/?@!$&'()*+,;=-]|%[\da-f]{2})*$/i.test(part))
  );
}

function isAuthority(text: string): boolean {
  const parts = /^(?:([^@]*)@)?(\[[^\]]*\]|[^:@[\]]*)(?::\d*)?$/.exec(text);
  if (!parts) return false;
  const [, userInfo = '', host = ''] = parts;
  const address = /^\[(.*)\]$/.exec(host)?.[1];
  const isHostValid = address === undefined ? name.test(host) : isAddress(address);
  return isHostValid && name.test(userInfo.replaceAll(':', ''));
}

function isAddress(text: string): boolean {
  return isIPv6Address(text) || /^v[\da-f]+\.[\w.~:!$&'()*+,;=-]+$/i.test(text);
}

/** Characters of a registered name. */
const name = /^(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*$/i;

const pointer = /^(?:\/(?:[^~/]|~[01])*)*$/;
