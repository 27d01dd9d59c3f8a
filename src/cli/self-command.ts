/** How this program is called where it runs: by its path in a checkout, by its name once installed. */
export const selfCommand = import.meta.url.endsWith('.ts') ? 'bin/offpeak' : 'offpeak';
