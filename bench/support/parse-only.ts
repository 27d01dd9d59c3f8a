// Minimum for validating a batch file: reads it, splits it, and parses each line.
import { closeSync, openSync, readSync } from 'node:fs';
import { answerFigures } from './measured.ts';

const path = process.argv[2] ?? '';

function parseAll(): number {
  const file = openSync(path, 'r');
  const block = Buffer.allocUnsafe(256 * 1024);
  let rest = Buffer.alloc(0);
  let lines = 0;
  for (let size = readSync(file, block); size > 0; size = readSync(file, block)) {
    const data = Buffer.concat([rest, block.subarray(0, size)]);
    let from = 0;
    for (let end = data.indexOf(10); end >= 0; end = data.indexOf(10, from)) {
      JSON.parse(data.toString('utf8', from, end));
      lines++;
      from = end + 1;
    }
    rest = data.subarray(from);
  }
  closeSync(file);
  return lines;
}

process.on('message', (message) => {
  if (message === 'parse') process.send?.({ lines: parseAll() });
});
answerFigures();
console.log('ready');
