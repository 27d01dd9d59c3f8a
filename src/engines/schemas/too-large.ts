/** A schema asks for more than we are willing to follow. The message is the end of a sentence about it. */
export class SchemaTooLarge extends Error {}

/** What two schemas ask for together cannot be written as one schema without growing out of hand. */
export const tooManyBranches = () => new SchemaTooLarge('the combinations of its branches are too many');
