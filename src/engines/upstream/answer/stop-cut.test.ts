import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StopCut, stopsOf } from './stop-cut.ts';

const lengthOf = (token: string) => token.length;

/** The texts and the tokens that are shown of each piece, and how the choice ended. */
function cut(pieces: readonly string[], stops: string[], finish: 'stop' | 'length' | 'tool_calls' = 'stop') {
  const one = new StopCut(stops, lengthOf);
  const shown = pieces.map((text, at) =>
    one.take({ text, tokens: Array.from(text) }, at === pieces.length - 1),
  );
  const ending = { finish_reason: finish, stop_reason: null, ...one.ending({ finish_reason: finish }) };
  return {
    texts: shown.map(({ text }) => text),
    text: shown.map(({ text }) => text).join(''),
    tokens: shown.flatMap(({ tokens }) => tokens).join(''),
    ending: [ending.finish_reason, ending.stop_reason],
  };
}

describe('a text', () => {
  it.each<[string[], string[], string, string | null]>([
    [['cocy'], ['y'], 'coc', 'y'],
    [['a END'], [' END'], 'a', ' END'],
    [['a', ' E', 'N', 'D'], [' END'], 'a', ' END'],
    [['a EN', 'ough'], ['END'], 'a ENough', null],
    [['a EN'], ['END'], 'a EN', null],
    [['END'], ['END'], '', 'END'],
    [['a\n\nb'], ['\n\n', '\n'], 'a', '\n'],
    [['a##b'], ['##', 'b'], 'a', '##'],
    [['abcd'], ['abcd', 'bc'], 'a', 'bc'],
    [['aab'], ['ab'], 'a', 'ab'],
    [['aa', 'ab'], ['aab'], 'a', 'aab'],
    [['plain'], ['x', 'yz'], 'plain', null],
  ])('%j with the stop sequences %j is %j', (pieces, stops, text, met) => {
    expect(cut(pieces, stops)).toMatchObject({ text, tokens: text, ending: ['stop', met] });
  });

  it('is held back only while it may become a stop sequence', () => {
    expect(cut(['one\n', 'two', '\n', '\nthree'], ['\n\n']).texts).toEqual(['one', '\ntwo', '', '']);
  });

  it('ends with its stop sequence even if its server went on to the limit, and never ends a call', () => {
    expect(cut(['a END b'], ['END'], 'length').ending).toEqual(['stop', 'END']);
    expect(cut(['a b'], ['END'], 'length').ending).toEqual(['length', null]);
    expect(cut(['a END'], ['END'], 'tool_calls').ending).toEqual(['tool_calls', null]);
  });

  it('keeps the stop reason of its server', () => {
    const one = new StopCut(['END'], lengthOf);
    one.take({ text: 'END', tokens: [] }, true);
    expect(one.ending({ finish_reason: 'stop', stop_reason: 'E' })).toEqual({
      finish_reason: 'stop',
      stop_reason: 'E',
    });
  });

  it('is the same in pieces as whole', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 12 });
    const stop = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(
        fc.array(letters, { minLength: 1, maxLength: 8 }),
        fc.array(stop, { minLength: 1, maxLength: 3 }),
        (pieces, stops) => {
          const whole = cut([pieces.join('')], stops);
          const streamed = cut(pieces, stops);
          expect({ ...streamed, texts: [] }).toEqual({ ...whole, texts: [] });
          expect(stops.some((each) => streamed.text.includes(each))).toBe(false);
          expect(pieces.join('').startsWith(streamed.text)).toBe(true);
        },
      ),
    );
  });
});

it.each<[Parameters<typeof stopsOf>[0], readonly string[]]>([
  [{}, []],
  [{ stop: null }, []],
  [{ stop: 'a' }, ['a']],
  [{ stop: ['a', 'b'], min_tokens: 0, include_stop_str_in_output: false }, ['a', 'b']],
  [{ stop: ['a'], include_stop_str_in_output: true }, []],
  [{ stop: ['a'], no_stop_trim: true }, []],
  [{ stop: ['a'], min_tokens: 5 }, []],
])('the stop sequences of %j that are cut are %j', (request, stops) => {
  expect(stopsOf(request)).toEqual(stops);
});
