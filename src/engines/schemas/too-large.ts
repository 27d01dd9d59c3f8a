/** The schema exceeds the limits of processing. The message is the end of a sentence. */
export class SchemaTooLarge extends Error {}

/** The merge of two schemas would be too large. */
export const tooManyBranches = () => new SchemaTooLarge('the combinations of its branches are too many');
