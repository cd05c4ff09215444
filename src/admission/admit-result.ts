/** What an admission step says of a pod (kubelet `PodAdmitResult`); reason and message only when it is refused. */
export interface AdmitResult {
  readonly admit: boolean;
  readonly reason: string;
  readonly message: string;
}

/** The one who has no objection. */
export const admitted: AdmitResult = { admit: true, reason: '', message: '' };

/** Refuses with the reason and message that end in the pod's status. */
export const refused = (reason: string, message: string): AdmitResult => ({ admit: false, reason, message });
