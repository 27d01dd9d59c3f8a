/** A schema asks for more than we are willing to follow. The message is the end of a sentence about it. */
export class SchemaTooLarge extends Error {}

/** Two schemas cannot be merged into one of reasonable size. */
export const tooManyBranches = () => new SchemaTooLarge('the combinations of its branches are too many');
