/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NS3_RNIC_TRACE_H
#define NS3_RNIC_TRACE_H

#include "rnic-c.h"

#include "ns3/traced-callback.h"

#include <string>

namespace ns3
{

/**
 * @ingroup rnic
 * What the frame traces hand to a sink: the frame's headers as they were at that instant.
 */
struct RnicFrameInfo
{
    uint32_t port;       //!< engine port (= station) where it happened
    wire_frame header;   //!< headers and sizes; payload and opaque are always null
    enum wire_drop drop; //!< FrameDrop: why; else WIRE_DROP_NONE

    /** @returns short lower-case name of the drop reason. */
    const char *GetDropName() const
    {
        return wire_drop_name(drop);
    }
};

/**
 * @ingroup rnic
 * A TracedCallback that tells its owner when somebody connects or disconnects, so that nothing is
 * recorded, copied or encoded while nobody listens.
 */
template <typename... Ts>
class RnicTracedCallback : public TracedCallback<Ts...>
{
public:
    /** Call @p changed (owner) after every connect and disconnect. */
    void SetWatcher(void (*changed)(void *owner), void *owner)
    {
        m_changed = changed;
        m_owner = owner;
    }

    void ConnectWithoutContext(const CallbackBase &callback)
    {
        TracedCallback<Ts...>::ConnectWithoutContext(callback);
        Notify();
    }

    void Connect(const CallbackBase &callback, std::string path)
    {
        TracedCallback<Ts...>::Connect(callback, path);
        Notify();
    }

    void DisconnectWithoutContext(const CallbackBase &callback)
    {
        TracedCallback<Ts...>::DisconnectWithoutContext(callback);
        Notify();
    }

    void Disconnect(const CallbackBase &callback, std::string path)
    {
        TracedCallback<Ts...>::Disconnect(callback, path);
        Notify();
    }

private:
    void Notify()
    {
        if (m_changed)
        {
            m_changed(m_owner);
        }
    }

    void (*m_changed)(void *owner) = nullptr; //!< told of every change
    void *m_owner = nullptr;                  //!< argument of m_changed
};

} // namespace ns3

#endif /* NS3_RNIC_TRACE_H */
