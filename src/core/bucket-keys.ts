/** Origin of the keys for a bucket. All but `static` are read again before they expire. Paths are absolute. */
export type BucketKeys =
  | StaticKeys
  /** Shared credentials file of the AWS tools. */
  | { kind: 'file'; path: string; profile: string }
  /** Role for a token in a file, exchanged at STS: IRSA in Kubernetes. */
  | { kind: 'web_identity'; roleArn: string; tokenFile: string; sessionName: string; endpoint: string }
  /** Endpoint of the container platform: pod identity in EKS, tasks in ECS. */
  | { kind: 'container'; url: string; token: string | undefined; tokenFile: string | undefined }
  /** Role of the EC2 instance, by IMDSv2. */
  | { kind: 'instance'; endpoint: string };

export interface StaticKeys {
  kind: 'static';
  accessKey: string;
  secretKey: string;
  sessionToken: string | undefined;
}
