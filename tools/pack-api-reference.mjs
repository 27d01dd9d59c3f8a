// The last step of the build: the script of the API reference becomes a file of the package, which then
// needs no other package for it.

import { writeFileSync } from 'node:fs';
import { zipScript } from '../dist/server/pages/api-reference.js';

writeFileSync(new URL('../dist/server/pages/scalar.js.gz', import.meta.url), await zipScript());
