import type { DirectKind } from '../../core/model.ts';
import type { Embeddings, EmbeddingsRequest } from '../embeddings/embeddings.ts';
import { embeddingsFormat } from '../embeddings/format.ts';
import { moderationsFormat } from '../moderations/format.ts';
import type { Moderations, ModerationsRequest } from '../moderations/moderations.ts';
import { rerankFormat } from '../rerank/format.ts';
import type { Ranking, RerankRequest } from '../rerank/rerank.ts';
import { scoreFormat } from '../score/format.ts';
import type { ScoreRequest, Scores } from '../score/score.ts';
import type { DirectFormat } from '../shared/direct-format.ts';

export interface DirectRequests {
  embeddings: EmbeddingsRequest;
  rerank: RerankRequest;
  score: ScoreRequest;
  moderations: ModerationsRequest;
}

export interface DirectResults {
  embeddings: Embeddings;
  rerank: Ranking;
  score: Scores;
  moderations: Moderations;
}

export type DirectFormats = { [Kind in DirectKind]: DirectFormat<DirectRequests[Kind], DirectResults[Kind]> };

export const directFormats: DirectFormats = {
  embeddings: embeddingsFormat,
  rerank: rerankFormat,
  score: scoreFormat,
  moderations: moderationsFormat,
};
