import type { Json } from './any-value.ts';
import type { Alternative, Element, GrammarBuilder } from './grammar.ts';

/** The string formats we can hold exactly (RFC 3339, RFC 4122, dotted IPv4), without the quotes. */
export function formatRule(b: GrammarBuilder, json: Json, format: string): Element | undefined {
  switch (format) {
    case 'date':
      return date(b, json.digit);
    case 'time':
      return b.rule([time(b, json.digit)]);
    case 'date-time':
      return b.rule([[date(b, json.digit), ...b.literal('T'), ...time(b, json.digit)]]);
    case 'uuid':
      return uuid(b);
    case 'ipv4':
      return ipv4(b, json.digit);
    default:
      return undefined;
  }
}

/** Every day of the calendar but 29 February, which would need to know its year. */
function date(b: GrammarBuilder, digit: Element): Element {
  const oneOf = (...texts: string[]): Element => b.rule(texts.map((text) => b.literal(text)));
  const to28 = b.rule([
    [...b.literal('0'), b.chars([0x31, 0x39])],
    [...b.literal('1'), digit],
    [...b.literal('2'), b.chars([0x30, 0x38])],
  ]);
  const to30 = b.rule([[to28], b.literal('29'), b.literal('30')]);
  const to31 = b.rule([[to30], b.literal('31')]);
  const dash = b.literal('-');
  const monthAndDay = b.rule([
    [oneOf('01', '03', '05', '07', '08', '10', '12'), ...dash, to31],
    [oneOf('04', '06', '09', '11'), ...dash, to30],
    [...b.literal('02'), ...dash, to28],
  ]);
  return b.rule([[b.chars([0x31, 0x32]), digit, digit, digit, ...dash, monthAndDay]]);
}

/** Hours to seconds in UTC, with milliseconds or without. */
function time(b: GrammarBuilder, digit: Element): Alternative {
  const hour = b.rule([
    [b.chars([0x30, 0x31]), digit],
    [...b.literal('2'), b.chars([0x30, 0x33])],
  ]);
  const sixty = b.rule([[b.chars([0x30, 0x35]), digit]]);
  const colon = b.literal(':');
  const fraction = b.optional([...b.literal('.'), digit, digit, digit]);
  return [hour, ...colon, sixty, ...colon, sixty, fraction, ...b.literal('Z')];
}

function uuid(b: GrammarBuilder): Element {
  const hex = b.chars([0x30, 0x39], [0x61, 0x66]);
  const group = (length: number): Element => b.repeat([hex], length, length);
  const dash = b.literal('-');
  return b.rule([[group(8), ...dash, group(4), ...dash, group(4), ...dash, group(4), ...dash, group(12)]]);
}

function ipv4(b: GrammarBuilder, digit: Element): Element {
  const byte = b.rule([
    [digit],
    [b.chars([0x31, 0x39]), digit],
    [...b.literal('1'), digit, digit],
    [...b.literal('2'), b.chars([0x30, 0x34]), digit],
    [...b.literal('25'), b.chars([0x30, 0x35])],
  ]);
  const dot = b.literal('.');
  return b.rule([[byte, ...dot, byte, ...dot, byte, ...dot, byte]]);
}
