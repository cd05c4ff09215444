import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import type { Authenticator } from '../authentication/authenticator.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import type { Entrance, Handler } from '../request/handler.ts';
import { type AuditMode, type AuditSink, failedAuthenticationAudit, withAudit } from './audit.ts';
import type { AuditMetrics } from './audit-metrics.ts';
import type { AccessMetrics } from './access-metrics.ts';
import type { RequestMetrics } from './request-metrics.ts';
import type { AuditPolicy } from './audit-policy.ts';
import { withAuthentication } from './authentication.ts';
import { withAuthorization } from './authorization.ts';
import { type Faults, withFaults } from './faults.ts';
import { type FlowLimits, withFlowControl } from './flow.ts';
import { withImpersonation } from './impersonation.ts';

export interface FilterDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly authorizer: Pick<Authorizer, 'decide'>;
  readonly access: AccessMetrics;
  readonly requests: RequestMetrics;
  /** Receives audit events; absent: no auditing. */
  readonly audit?: AuditSink;
  /** Absent: an event of the level Metadata when a request has been answered. */
  readonly auditPolicy?: AuditPolicy;
  /** Default: `blocking`. */
  readonly auditMode?: AuditMode;
  readonly auditMetrics: AuditMetrics;
  /** Limits on concurrent requests; absent: the defaults. */
  readonly flow?: FlowLimits;
  /** Failures that a test wants. */
  readonly faults?: Faults;
}

/**
 * Returns the filters that every request passes before it is handled, from the outside in: authentication → audit → faults of a test →
 * impersonation → authorization → flow → metrics. A filter rejects by throwing a StatusError.
 */
export const filterChain = (deps: FilterDeps, handler: Handler): Entrance =>
  withAuthentication(
    deps.authenticator,
    deps.access,
    failedAuthenticationAudit(deps),
    withAudit(
      deps,
      withFaults(
        deps.faults,
        deps.clock,
        withImpersonation(
          deps.authorizer,
          withAuthorization(
            deps.authorizer,
            deps.access,
            withFlowControl(deps.flow, deps.requests.counting(handler)),
          ),
        ),
      ),
    ),
  );
