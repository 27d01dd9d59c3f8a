import { type PatternNode, PatternUnheld, parsePattern } from './parse-pattern.ts';
import type { Regex, Regexes } from './regex.ts';

/**
 * The texts in which `pattern` is found somewhere, as JSON Schema means it. Throws `PatternUnheld` for what cannot be
 * followed, among it anchors behind or before something that is read.
 */
export function patternLanguage(regexes: Regexes, pattern: string): Regex {
  const { everything, chars, concat, any, repeat, empty } = regexes;

  /** `left` and `right` tell whether anything may still stand there, because no anchor came yet. */
  function found(node: PatternNode, left: boolean, right: boolean): Regex {
    if (node.kind === 'choice') return any(node.branches.map((branch) => found(branch, left, right)));
    const parts = node.kind === 'sequence' ? node.parts : [node];
    const from = left ? parts.findIndex((part) => part.kind !== 'start') : 0;
    const body = from === -1 ? [] : parts.slice(from);
    const to = right ? body.findLastIndex((part) => part.kind !== 'end') : body.length - 1;
    const inner = body.slice(0, to + 1);
    const isOpenLeft = left && (from === -1 ? parts.length === 0 : from === 0);
    const isOpenRight = right && inner.length === body.length;
    if (inner.length === 0) return isOpenLeft || isOpenRight ? everything : empty;
    if (inner.length === 1 && isGroup(inner[0]!)) return found(inner[0]!, isOpenLeft, isOpenRight);
    return concat([
      ...(isOpenLeft && !hasAnchor(inner[0]!) ? [everything] : []),
      ...inner.map((part, i) =>
        hasAnchor(part) && isGroup(part)
          ? found(part, isOpenLeft && i === 0, isOpenRight && i === inner.length - 1)
          : read(part),
      ),
      ...(isOpenRight && !hasAnchor(inner.at(-1)!) ? [everything] : []),
    ]);
  }

  function read(node: PatternNode): Regex {
    switch (node.kind) {
      case 'chars':
        return chars(node.ranges);
      case 'sequence':
        return concat(node.parts.map(read));
      case 'choice':
        return any(node.branches.map(read));
      case 'repeat':
        return repeat(read(node.of), node.min, node.max);
      default:
        throw new PatternUnheld('an anchor in the middle of the pattern');
    }
  }

  return found(parsePattern(pattern), true, true);
}

function isGroup(node: PatternNode): boolean {
  return node.kind === 'choice' || node.kind === 'sequence';
}

function hasAnchor(node: PatternNode): boolean {
  switch (node.kind) {
    case 'start':
    case 'end':
      return true;
    case 'sequence':
      return node.parts.some(hasAnchor);
    case 'choice':
      return node.branches.some(hasAnchor);
    case 'repeat':
      return hasAnchor(node.of);
    default:
      return false;
  }
}
