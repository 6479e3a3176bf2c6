import type { AuditDatabase } from './tables/audit.ts';
import type { BackgroundDatabase } from './tables/background.ts';
import type { ChatDatabase } from './tables/chats.ts';
import type { ExtensionDatabase } from './tables/extensions.ts';
import type { ImportDatabase } from './tables/imports.ts';
import type { KennelDatabase } from './tables/kennel.ts';
import type { MemoryDatabase } from './tables/memories.ts';
import type { PayloadDatabase } from './tables/payloads.ts';
import type { RoutineDatabase } from './tables/routines.ts';
import type { TurnDatabase } from './tables/turns.ts';
import type { WhatsAppDatabase } from './tables/whatsapp.ts';

/** Every table with the type of its rows; the migrations make the tables themselves. */
export interface Database
  extends ChatDatabase,
    TurnDatabase,
    RoutineDatabase,
    BackgroundDatabase,
    KennelDatabase,
    MemoryDatabase,
    PayloadDatabase,
    WhatsAppDatabase,
    ImportDatabase,
    ExtensionDatabase,
    AuditDatabase {}
